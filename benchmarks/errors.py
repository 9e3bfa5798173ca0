"""The one error of the benchmarks: something outside them is missing or failed."""


class BenchmarkError(Exception):
    """A peer, its environment or the data did not do what a benchmark needs; says what to do."""
