"""Pairs of a parallel corpus, one by one and by columns, which are three times as fast."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

import numpy as np
import numpy.typing as npt


class Pair(NamedTuple):
    """One sentence, its translation, their line (from 1), and the further columns of the corpus."""

    source: str
    target: str
    line: int
    further: tuple[str, ...] = ()


@dataclass(frozen=True)
class PairColumns:
    """Some pairs, one after another in their corpus; `lines` count from 1."""

    sources: Sequence[str]
    targets: Sequence[str]
    lines: npt.NDArray[np.int64]

    @classmethod
    def of(cls, pairs: Sequence[Pair]) -> "PairColumns":
        """Without the further columns."""
        lines = np.fromiter((pair.line for pair in pairs), np.int64, len(pairs))
        return cls([pair.source for pair in pairs], [pair.target for pair in pairs], lines)

    def __len__(self) -> int:
        return len(self.lines)

    def __getitem__(self, row: int) -> Pair:
        return Pair(self.sources[row], self.targets[row], int(self.lines[row]))

    def __iter__(self) -> Iterator[Pair]:
        return map(Pair, self.sources, self.targets, self.lines.tolist())

    def part(self, first: int, last: int) -> "PairColumns":
        rows = slice(first, last)
        return PairColumns(self.sources[rows], self.targets[rows], self.lines[rows])


def columns_of(pairs: Iterable[Pair], size: int) -> Iterator[PairColumns]:
    """The pairs in columns of `size` rows; the last ones may be shorter."""
    rest = iter(pairs)
    while chunk := list(islice(rest, size)):
        yield PairColumns.of(chunk)


class ColumnReader:
    """Columns of a requested number of rows, from columns of any number of rows."""

    def __init__(self, columns: Iterable[PairColumns]) -> None:
        self._rest = iter(columns)
        self._ready: list[PairColumns] = []

    def take(self, most: int) -> PairColumns:
        """The next rows; fewer if there are no more."""
        while sum(map(len, self._ready)) < most and (more := next(self._rest, None)) is not None:
            self._ready.append(more)
        whole = _joined_columns(self._ready)
        self._ready = [whole.part(most, len(whole))]
        return whole.part(0, most)

    def put_back(self, columns: PairColumns) -> None:
        self._ready.insert(0, columns)


def _joined_columns(columns: Sequence[PairColumns]) -> PairColumns:
    sources, targets = list[str](), list[str]()
    for part in columns:
        sources += part.sources
        targets += part.targets
    empty = np.zeros(0, np.int64)
    return PairColumns(sources, targets, np.concatenate([empty, *(part.lines for part in columns)]))
