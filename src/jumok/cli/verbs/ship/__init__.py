"""Commands that prepare a model for other machines."""
