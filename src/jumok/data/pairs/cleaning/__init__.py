"""Pairs that a corpus is better without: which they are, how many, and examples of each kind."""
