"""Tables, grids and runs of `jumok plan` and `jumok sweep`."""
