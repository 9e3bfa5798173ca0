"""The verbs that look inside a model."""
