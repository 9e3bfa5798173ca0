"""Queries attend to keys and take a weighted sum of values."""
