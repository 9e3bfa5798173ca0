"""The loss of a batch: one objective for each kind of system."""
