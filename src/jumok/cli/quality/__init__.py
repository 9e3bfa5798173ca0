"""What `jumok quantize` measures of each kind of model."""
