"""Texts for validation or a test that are in the training data too.

Exactly: the same text, as models read it. Nearly: without case, spaces and signs, the two have four
fifths or more of their runs of four letters or digits in common (`cleaning.near`, which finds 88 %
of those with just four fifths, and 99 % of those with nine tenths). Time grows with the training
data, memory with the tested texts alone.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from jumok.data.pairs.cleaning.characters import BatchSide
from jumok.data.pairs.cleaning.duplicates import HashKeys
from jumok.data.pairs.cleaning.near import RUN_LENGTH, bands, signatures
from jumok.data.pairs.rows import spread
from jumok.data.tokenizer import normalize
from jumok.kernels.texts import digest_texts

VERSION = 1  # of what is found: another one looks again
NEARLY = 0.8
BATCH_OF_TEXTS = 20_000
MOST_TESTED = 100_000
MOST_COMPARED = 16  # tested texts for each band of a training text
EXAMPLE_LENGTH = 60
SHORTEST_LINE = 20
"""Characters: shorter lines of running text repeat without being copied."""


@dataclass(frozen=True)
class Leaks:
    """How many texts are in the training data.

    Attributes:
        of: the texts that were looked for.
        exact, near: their numbers; no text is in both.
        example: the first of them.
    """

    of: int
    exact: int = 0
    near: int = 0
    example: str = ""

    def line(self, what: str) -> str:
        """In words: "3 of 100 test sentences are in the training data, 2 more nearly"."""
        if not (self.exact or self.near):
            return f"none of {self.of:,} {what} is in the training data, exactly or nearly"
        example = (
            self.example
            if len(self.example) <= EXAMPLE_LENGTH
            else f"{self.example[: EXAMPLE_LENGTH - 3]}..."
        )
        return (
            f"{self.exact:,} of {self.of:,} {what} are in the training data "
            f"({self.exact / self.of:.1%}), {self.near:,} more nearly, e.g. {example!r}"
        )


def find_leaks(tested: Iterable[str], training: Iterable[str]) -> Leaks:
    """Looks for the tested texts with a letter or a digit in the training data; of very many, for
    MOST_TESTED in equal distances.
    """
    texts = [text for text in map(_letters_of, tested) if any(map(str.isalnum, text))]
    texts = spread(texts, MOST_TESTED)
    if not texts:
        return Leaks(0)
    index = _Index(texts)
    stream = filter(None, map(_letters_of, training))
    while batch := list(islice(stream, BATCH_OF_TEXTS)):
        index.look_in(batch)
    near = index.near & ~index.exact
    first = np.flatnonzero(index.exact | near)[:1].tolist()
    example = texts[first[0]] if first else ""
    return Leaks(len(texts), int(index.exact.sum()), int(near.sum()), example)


def long_lines(documents: Iterable[str]) -> Iterator[str]:
    """The lines of running text that are long enough to be copies."""
    for document in documents:
        for line in document.splitlines():
            if len(line.strip()) >= SHORTEST_LINE:
                yield line


class _Index:
    """The tested texts by their digests and by the bands of their signatures.

    Attributes:
        exact, near: which of them were found.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self.exact, self.near = (np.zeros(len(texts), dtype=np.bool_) for _ in range(2))
        self._texts, self._digests = texts, _digests(texts)
        keys = _bands(texts)
        self._orders = np.argsort(keys, axis=0)
        self._keys = np.take_along_axis(keys, self._orders, axis=0)

    def look_in(self, batch: Sequence[str]) -> None:
        """Marks the texts that one of these training texts repeats."""
        self.exact |= np.isin(self._digests, _digests(batch))
        for keys, known, order in zip(_bands(batch).T, self._keys.T, self._orders.T, strict=True):
            firsts, ends = (np.searchsorted(known, keys, side) for side in ("left", "right"))
            for place in np.flatnonzero(ends > firsts).tolist():
                rows = order[firsts[place] : ends[place]]
                rows = rows[~(self.exact[rows] | self.near[rows])][:MOST_COMPARED].tolist()
                if rows:
                    runs = _runs_of(batch[place])
                    for row in rows:
                        self.near[row] = _overlap(runs, _runs_of(self._texts[row])) >= NEARLY


def _letters_of(text: str) -> str:
    return normalize(text).strip()


def _digests(texts: Sequence[str]) -> HashKeys:
    return digest_texts("".join(f"{text}\n" for text in texts).encode(), len(texts))


def _bands(texts: Sequence[str]) -> HashKeys:
    return bands(signatures(BatchSide.of(texts)))


def _runs_of(text: str) -> Counter[str]:
    letters = "".join(filter(str.isalnum, text.lower()))
    return Counter(
        letters[start : start + RUN_LENGTH]
        for start in range(max(len(letters) - RUN_LENGTH + 1, 1))
    )


def _overlap(one: Counter[str], other: Counter[str]) -> float:
    """The share of runs in common: 0 to 1."""
    return (one & other).total() / (one | other).total()
