"""The public server of `jumok serve`: loaded models behind HTTP, in three dialects."""
