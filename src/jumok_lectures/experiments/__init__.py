"""One file for each lab."""
