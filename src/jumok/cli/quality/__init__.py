"""Measurements of `jumok quantize` for each kind of model."""
