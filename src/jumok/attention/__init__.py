"""Queries look at keys and take a weighted sum of values."""
