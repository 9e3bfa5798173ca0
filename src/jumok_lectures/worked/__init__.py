"""The notes' worked numbers, computed again by jumok's attention: one file for each note."""
