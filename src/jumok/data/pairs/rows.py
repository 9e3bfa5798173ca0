"""Length-sorted batching for decoding, and evenly spaced samples. Nothing here imports torch."""

from collections.abc import Iterator, Sequence
from typing import TypeVar

import numpy as np

Chosen = TypeVar("Chosen")


def spread(items: Sequence[Chosen], count: int) -> list[Chosen]:
    """At most `count` items, evenly spaced, because corpora are often sorted by kind."""
    count = min(count, len(items))
    return [items[index * len(items) // count] for index in range(count)]


def batched_rows(
    sources: Sequence[Sequence[int]], sentences: int, tokens: int | None = None
) -> Iterator[list[int]]:
    """The rows of each batch of sources (token ids without END), longest first.

    Longest first, so that a batch that is too large for the memory fails at once.

    Args:
        sentences: of a batch, at most.
        tokens: positions of a batch at most, padding and END included; a longer source is a batch
            of its own. None: no limit.
    """
    lengths = np.array([len(source) for source in sources], dtype=np.int64)
    rows: list[int] = []
    for row in np.argsort(-lengths, kind="stable").tolist():
        room = (
            tokens is None or (len(rows) + 1) * (len(sources[rows[0]]) + 1 if rows else 0) <= tokens
        )
        if rows and (len(rows) == sentences or not room):
            yield rows
            rows = []
        rows.append(row)
    if rows:
        yield rows
