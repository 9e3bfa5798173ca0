"""The checks of `jumok doctor`."""
