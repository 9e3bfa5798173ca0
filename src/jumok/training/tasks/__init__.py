"""One file a kind of system: its data, model, scores and bundle."""
