"""Sequences of numbers on disk, one after another, memory-mapped.

Three files for each: NAME.values holds the numbers, NAME.lengths how many each sequence has
(uint16, or uint32 if one is longer than 65,535), and NAME.ends where each ends (int64). None of
them is read as a whole into memory: of 10^9 sequences the lengths alone are 2 GB.
"""

from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from jumok.errors import DataError, Place

Lengths = npt.NDArray[np.int64]
Rows = npt.NDArray[np.int64]

Width = np.dtype[np.uint16] | np.dtype[np.uint32]

NARROW, WIDE = np.dtype(np.uint16), np.dtype(np.uint32)
LONGEST = 2**31 - 1  # numbers in a sequence: a plan computes with its length in int32
CHECKED = 1 << 20  # sequences checked at once


@runtime_checkable
class StoredSequences(Protocol):
    """Sequences by their rows: of one `Flat`, or of several."""

    def __getitem__(self, index: int) -> npt.NDArray[np.unsignedinteger]: ...

    def parts(self, rows: Rows) -> Iterable[tuple["Flat", Rows, Rows]]:
        """Where these sequences are: a `Flat`, their indices in `rows`, and their rows in it."""
        ...


@dataclass(frozen=True)
class Flat:
    """Sequences one after another: the i-th is `values[ends[i] - lengths[i] : ends[i]]`."""

    values: npt.NDArray[np.unsignedinteger]
    ends: Lengths
    lengths: npt.NDArray[np.unsignedinteger]

    def __len__(self) -> int:
        return len(self.ends)

    def __getitem__(self, index: int) -> npt.NDArray[np.unsignedinteger]:
        end = int(self.ends[index])
        return self.values[end - int(self.lengths[index]) : end]

    def parts(self, rows: Rows) -> Iterable[tuple["Flat", Rows, Rows]]:
        """See `StoredSequences`."""
        return [(self, np.arange(len(rows)), rows)]


def map_flat(folder: Path, name: str, kind: np.dtype[np.unsignedinteger], limit: int) -> Flat:
    """The sequences of this name in a store's folder, mapped into memory.

    Values and ends are used as indices of tables and of C arrays, so all of them are checked here,
    once.

    Args:
        limit: every value is below it: the size of the vocabulary, or the number of labels.

    Raises:
        ValueError: a value, a length or an end is out of range.
        OSError: a file cannot be read.
    """
    ends = np.memmap(folder / f"{name}.ends", dtype=np.int64, mode="r")
    values = np.memmap(folder / f"{name}.values", dtype=kind, mode="r")
    lengths = np.memmap(folder / f"{name}.lengths", dtype=_width(folder, name, len(ends)), mode="r")
    for first in range(0, len(ends), CHECKED):
        chunk = slice(first, first + CHECKED)
        before = ends[first - 1] if first else 0
        if (np.diff(ends[chunk], prepend=before) != lengths[chunk]).any():
            raise ValueError(f"{name}.ends: the ends are not those of {name}.lengths")
    if len(values) != ends[-1]:
        raise ValueError(f"{name}.values holds {len(values)} values, not {ends[-1]}")
    if len(values) and values.max() >= limit:
        raise ValueError(f"{name}.values holds {values.max()}; every value is below {limit}")
    return Flat(values, ends, lengths)


def _width(folder: Path, name: str, count: int) -> Width:
    """The type of the lengths, which their file's size tells."""
    size = (folder / f"{name}.lengths").stat().st_size
    for kind in (NARROW, WIDE):
        if size == count * kind.itemsize:
            return kind
    raise ValueError(f"{name}.lengths holds {size} bytes, not 2 or 4 for each of {count} sequences")


class FlatWriter:
    """A `Flat` that grows on disk. It is a context manager, which closes the files.

    Attributes:
        values: the number of values so far.
        longest: those of the longest sequence.
    """

    def __init__(self, folder: Path, name: str, kind: np.dtype[np.unsignedinteger]) -> None:
        self.values, self.longest = 0, 0
        self._kind = kind
        self._written = (folder / f"{name}.values").open("wb")
        self._ends = (folder / f"{name}.ends").open("wb")
        self._lengths_file = folder / f"{name}.lengths"
        self._lengths: BinaryIO = self._lengths_file.open("wb")
        self._lengths_kind: Width = NARROW

    def __enter__(self) -> "FlatWriter":
        return self

    def __exit__(self, *_: object) -> None:
        with ExitStack() as stack:
            for file in (self._written, self._ends, self._lengths):
                stack.enter_context(file)

    def append(self, values: npt.NDArray[np.unsignedinteger], lengths: Lengths) -> None:
        """Adds sequences of these lengths, whose values follow one another.

        Raises:
            DataError: a sequence has more than 2,147,483,647 values.
        """
        longest = int(lengths.max(initial=0))
        if longest > LONGEST:
            raise DataError(
                "a text is too long to be stored.",
                expected=f"at most {LONGEST:,} tokens",
                got=f"{longest:,} tokens",
                do="split it",
                place=Place(self._lengths_file.parent),
            )
        if longest > np.iinfo(self._lengths_kind).max:
            self._widen()
        self.longest = max(self.longest, longest)
        ends = self.values + np.cumsum(lengths, dtype=np.int64)
        self._written.write(values.astype(self._kind).tobytes())
        self._ends.write(ends.tobytes())
        self._lengths.write(lengths.astype(self._lengths_kind).tobytes())
        self.values += int(lengths.sum())

    def _widen(self) -> None:
        """Writes the lengths again with four bytes each; this happens at most once."""
        self._lengths.close()
        narrow = self._lengths_file.with_suffix(".narrow")
        self._lengths_file.rename(narrow)
        self._lengths, self._lengths_kind = self._lengths_file.open("wb"), WIDE
        with narrow.open("rb") as before:
            while chunk := before.read(CHECKED * NARROW.itemsize):
                self._lengths.write(np.frombuffer(chunk, NARROW).astype(WIDE).tobytes())
        narrow.unlink()
