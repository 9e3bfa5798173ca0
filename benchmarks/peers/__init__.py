"""One file a peer: how it is told to train the same model, and how its progress is read."""
