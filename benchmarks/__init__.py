"""Benchmarks against other toolkits, each in its own environment: `python -m benchmarks`."""
