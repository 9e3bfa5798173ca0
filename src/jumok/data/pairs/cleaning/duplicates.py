"""Repeated pairs: by a hash of their texts, which a set of numbers remembers."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from jumok.kernels.texts import digest_texts

Keys = npt.NDArray[np.uint64]

FULL = 0.6  # a table is doubled when more than this share is taken
_SPREAD = np.uint64(0x9E3779B97F4A7C15)  # 2^64 divided by the golden ratio (Knuth 6.4)


def keys_of(sources: Sequence[str], targets: Sequence[str], by: Literal["pair", "target"]) -> Keys:
    """A hash of 64 bits of each pair, or of its target alone: BLAKE2b, never 0.

    Two of a thousand million different pairs have the same one with a probability of 3 %.
    """
    texts = (
        (f"{source}\t{target}" for source, target in zip(sources, targets, strict=True))
        if by == "pair"
        else targets
    )
    joined = "".join(f"{text}\n" for text in texts).encode("utf-8", "surrogatepass")
    return np.maximum(digest_texts(joined, len(targets)), np.uint64(1))


class SeenKeys:
    """Which key was first seen in which row: a table of open addressing, of 13 to 27 bytes a key.

    Rows are numbered as they come, from 0; `read` is how many came.
    """

    def __init__(self, capacity: int = 1 << 16) -> None:
        self._keys = np.zeros(capacity, dtype=np.uint64)
        self._rows = np.zeros(capacity, dtype=np.uint32)
        self._held, self.read = 0, 0

    def repeated(self, keys: Keys) -> npt.NDArray[np.bool_]:
        """Which of the next rows have a key that an earlier row had."""
        rows = self.read + np.arange(len(keys))
        return self.first(keys) < rows

    def first(self, keys: Keys) -> npt.NDArray[np.int64]:
        """The row in which each of these keys was first; that of itself, if it is new.

        Args:
            keys: those of the next rows; 0 is none.
        """
        unique, index, inverse = np.unique(keys, return_index=True, return_inverse=True)
        while self._held + len(unique) > FULL * len(self._keys):
            self._double()
        rows = self._put(unique, (self.read + index).astype(np.uint32))
        self.read += len(keys)
        return rows[inverse].astype(np.int64)

    def _put(self, keys: Keys, rows: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
        """The row of each of these different keys; those that are not there yet are added."""
        size = np.uint64(len(self._keys) - 1)
        shift = np.uint64(64 - int(size).bit_length())
        places = (keys * _SPREAD) >> shift
        found = np.empty_like(rows)
        open_ = np.arange(len(keys))
        while len(open_):
            here = places[open_]
            empty = open_[self._keys[here] == 0]
            self._keys[places[empty]] = keys[empty]  # of several for one place, the last one stays
            mine = self._keys[here] == keys[open_]
            new = empty[self._keys[places[empty]] == keys[empty]]
            self._rows[places[new]] = rows[new]
            self._held += len(new)
            found[open_[mine]] = self._rows[here[mine]]
            open_ = open_[~mine]
            places[open_] = (places[open_] + np.uint64(1)) & size
        return found

    def _double(self) -> None:
        keys, rows = self._keys, self._rows
        taken = keys != 0
        self._keys = np.zeros(2 * len(keys), dtype=np.uint64)
        self._rows = np.zeros(2 * len(keys), dtype=np.uint32)
        self._held = 0
        self._put(keys[taken], rows[taken])
