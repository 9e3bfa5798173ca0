"""One file a kind of system: its data, its model, its scores, its bundle."""
