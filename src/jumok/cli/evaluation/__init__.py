"""`jumok evaluate` for each kind of model."""
