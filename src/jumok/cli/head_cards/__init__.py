"""Corpora and tables of `jumok heads`."""
