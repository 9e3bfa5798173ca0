"""Blocks of large corpora, so that the memory of a plan does not grow with the corpus.

A corpus of more than BLOCK_PAIRS pairs consists of *stretches* of neighbouring pairs: its shards,
or parts of large shards. An epoch brings the stretches into a new order and forms blocks of about
BLOCK_PAIRS pairs from them; each is planned by itself. So a pair meets others from all over the
corpus, and only the stretches of one block are read at a time. A smaller corpus is one block.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from jumok.data.store import Ragged, Rows

Lengths = npt.NDArray[np.int32]

BLOCK_PAIRS = 10_000_000
STRETCHES = 16  # in a block, at least: fewer would bring less order into a sorted corpus
LENGTHS_AT_ONCE = 1 << 20  # lengths converted at once


@runtime_checkable
class PairLengths(Protocol):
    """The lengths of a corpus's pairs, in tokens."""

    @property
    def shards(self) -> Sequence[int]:
        """The number of pairs in each shard, in order."""
        ...

    @property
    def source_tokens(self) -> int: ...

    @property
    def target_tokens(self) -> int: ...

    @property
    def longest(self) -> int:
        """The most tokens on one side of a pair."""
        ...

    def expect(self, stretches: Sequence[tuple[int, int]]) -> None:
        """The pairs of these ranges of rows are needed soon."""
        ...

    def read(self, first: int, end: int) -> tuple[Lengths, Lengths]:
        """The lengths of both sides of the pairs from `first` to before `end`."""
        ...


@dataclass(frozen=True)
class StoredLengths:
    """Those of one store."""

    source: Ragged
    target: Ragged

    @property
    def shards(self) -> tuple[int, ...]:
        return (len(self.source),)

    @property
    def source_tokens(self) -> int:
        return int(self.source.offsets[-1])

    @property
    def target_tokens(self) -> int:
        return int(self.target.offsets[-1])

    @property
    def longest(self) -> int:
        return max(self.source.longest, self.target.longest)

    def expect(self, stretches: Sequence[tuple[int, int]]) -> None:
        """They are on the disk."""

    def read(self, first: int, end: int) -> tuple[Lengths, Lengths]:
        source, target = (side.lengths(first, end) for side in (self.source, self.target))
        return source.astype(np.int32), target.astype(np.int32)


@dataclass(frozen=True)
class PairBlock:
    """Some stretches of a corpus.

    Attributes:
        firsts: the row of the first pair of each stretch.
        ends: the number of pairs in the block up to the end of each stretch.
    """

    firsts: Rows
    ends: Rows

    def __len__(self) -> int:
        return int(self.ends[-1])

    @property
    def stretches(self) -> list[tuple[int, int]]:
        """The range of rows of each."""
        sizes = np.diff(self.ends, prepend=0)
        return list(zip(self.firsts.tolist(), (self.firsts + sizes).tolist(), strict=True))

    def rows(self, indices: npt.NDArray[np.integer]) -> Rows:
        """The rows in the corpus of these pairs of the block."""
        before = np.append(0, self.ends[:-1])
        stretch = np.searchsorted(self.ends, indices, side="right")
        rows: Rows = (self.firsts - before)[stretch] + indices.astype(np.int64)
        return rows

    def lengths(self, corpus: PairLengths) -> tuple[Lengths, Lengths]:
        source, target = (np.empty(len(self), dtype=np.int32) for _ in range(2))
        place = 0
        for first, end in self.stretches:
            for start in range(first, end, LENGTHS_AT_ONCE):
                some = slice(place, place + min(LENGTHS_AT_ONCE, end - start))
                source[some], target[some] = corpus.read(start, min(start + LENGTHS_AT_ONCE, end))
                place = some.stop
        return source, target


def blocks_of_epoch(
    shards: Sequence[int], block_pairs: int, seed: Sequence[int]
) -> list[PairBlock]:
    """The blocks of one epoch, in order: every pair is in exactly one.

    Args:
        shards: the number of pairs in each shard of the corpus; none is 0.
        block_pairs: about the most pairs of a block; of several, each has more than half as many.
        seed: of the order of the stretches.
    """
    total = sum(shards)
    if total <= block_pairs:
        return [PairBlock(np.array([0]), np.array([total]))]
    firsts, sizes = _stretches(shards, max(block_pairs // STRETCHES, 1))
    order = np.random.default_rng(seed).permutation(len(sizes))
    firsts, sizes = firsts[order], sizes[order]
    count = -(-total // block_pairs)
    # A stretch belongs to the block in which its middle lies; twice the numbers stay integers.
    block = (2 * np.cumsum(sizes) - sizes) * count // (2 * total)
    bounds = np.searchsorted(block, np.arange(count + 1)).tolist()
    return [PairBlock(firsts[a:b], np.cumsum(sizes[a:b])) for a, b in pairwise(bounds)]


def _stretches(shards: Sequence[int], most: int) -> tuple[Rows, Rows]:
    """The first row and the number of pairs of each: shards, or even parts of at most `most`."""
    starts, first = [], 0
    for size in shards:
        parts = -(-size // most)
        starts.append(first + size * np.arange(parts, dtype=np.int64) // parts)
        first += size
    firsts = np.concatenate(starts)
    return firsts, np.diff(firsts, append=first)
