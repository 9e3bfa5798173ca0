"""Repeated pairs, by a hash of their texts."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from jumok.kernels.texts import digest_texts

HashKeys = npt.NDArray[np.uint64]

FULL = 0.6  # a table is doubled when more than this share is taken
_SPREAD = np.uint64(0x9E3779B97F4A7C15)  # 2^64 divided by the golden ratio (Knuth 6.4)


def keys_of(
    sources: Sequence[str], targets: Sequence[str], by: Literal["pair", "target"]
) -> HashKeys:
    """A BLAKE2b hash of 64 bits of each pair, or of its target alone; never 0.

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
    """The row in which each key was first seen: a table of open addressing, of 13 to 27 bytes a
    key.

    Rows are numbered as they come, from 0; `read` is how many came.
    """

    def __init__(self, capacity: int = 1 << 16) -> None:
        self._keys = np.zeros(capacity, dtype=np.uint64)
        self._rows = np.zeros(capacity, dtype=np.uint32)
        self._held, self.read = 0, 0

    def repeated(self, keys: HashKeys) -> npt.NDArray[np.bool_]:
        rows = self.read + np.arange(len(keys))
        return self.first(keys) < rows

    def first(self, keys: HashKeys) -> npt.NDArray[np.int64]:
        """The row in which each of these keys was first; that of itself, if it is new.

        Args:
            keys: of the next rows; none is 0.
        """
        unique, index, inverse = np.unique(keys, return_index=True, return_inverse=True)
        while self._held + len(unique) > FULL * len(self._keys):
            self._double()
        rows = self._put(unique, (self.read + index).astype(np.uint32))
        self.read += len(keys)
        return rows[inverse].astype(np.int64)

    def _put(self, keys: HashKeys, rows: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
        """The row of each of these different keys; those that are not there yet are added."""
        size = np.uint64(len(self._keys) - 1)
        shift = np.uint64(64 - int(size).bit_length())
        slot_of = (keys * _SPREAD) >> shift
        firsts = np.empty_like(rows)
        open_ = np.arange(len(keys))
        while len(open_):
            slots = slot_of[open_]
            empty = open_[self._keys[slots] == 0]
            self._keys[slot_of[empty]] = keys[empty]  # of several for one place, the last one stays
            mine = self._keys[slots] == keys[open_]
            new = empty[self._keys[slot_of[empty]] == keys[empty]]
            self._rows[slot_of[new]] = rows[new]
            self._held += len(new)
            firsts[open_[mine]] = self._rows[slots[mine]]
            open_ = open_[~mine]
            slot_of[open_] = (slot_of[open_] + np.uint64(1)) & size
        return firsts

    def _double(self) -> None:
        keys, rows = self._keys, self._rows
        taken = keys != 0
        self._keys = np.zeros(2 * len(keys), dtype=np.uint64)
        self._rows = np.zeros(2 * len(keys), dtype=np.uint32)
        self._held = 0
        self._put(keys[taken], rows[taken])
