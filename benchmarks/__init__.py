"""This project against its peers, each in an environment of its own: `python -m benchmarks`."""
