"""Commands that ship a model."""
