"""One pair of a parallel corpus."""

from typing import NamedTuple


class Pair(NamedTuple):
    """One sentence, its translation, their line (from 1), and the further columns of the corpus."""

    source: str
    target: str
    line: int
    further: tuple[str, ...] = ()
