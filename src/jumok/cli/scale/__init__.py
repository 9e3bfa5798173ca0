"""What `jumok plan` and `jumok sweep` do: tables, grids, and runs side by side."""
