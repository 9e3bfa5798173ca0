"""How `jumok evaluate` scores each kind of model."""
