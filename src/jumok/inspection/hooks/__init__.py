"""Listening to a model while it runs, and changing what it computes."""
