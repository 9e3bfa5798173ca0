"""Prepared data on disk: columns of numbers, memory-mapped, in one safetensors file.

A column has a row for each example: all of one shape (images, labels), or sequences of any length
(token ids, texts). Sequences take two tensors: NAME holds the numbers one after another, and
NAME.offsets where each sequence begins, and where the last one ends (int64). The metadata hold a
description in JSON, and a SHA-256 of everything.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from jumok.data.files.atomic import force_to_disk, working_folder
from jumok.data.files.header import DTYPES, Header, read_header
from jumok.errors import DataError, Location
from jumok.json_types import JsonObject

VERSION = 4
"""The version of every store; another one prepares everything again."""
STORE_SUFFIX = ".safetensors"
OFFSETS_SUFFIX = ".offsets"
LONGEST_SEQUENCE = 2**31 - 1  # numbers in a sequence: a plan computes with its length in int32
BLOCK = 1 << 20  # bytes copied at once, and sequences checked at once

Array = npt.NDArray[Any]
Lengths = npt.NDArray[np.int64]
Rows = npt.NDArray[np.int64]
Ids = npt.NDArray[np.unsignedinteger]


@runtime_checkable
class StoredSequences(Protocol):
    """Sequences by their rows: of one store, or of several."""

    def __getitem__(self, row: int) -> Ids: ...

    def parts(self, rows: Rows) -> Iterable[tuple["Ragged", Rows, Rows]]:
        """The stores with these sequences: each with their indices in `rows`, and their rows in
        it.
        """
        ...


@dataclass(frozen=True)
class Ragged:
    """A column of sequences, one after another: row i is `values[offsets[i] : offsets[i + 1]]`."""

    values: Ids
    offsets: Lengths

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, row: int) -> Ids:
        return self.values[self.offsets[row] : self.offsets[row + 1]]

    def lengths(self, first: int = 0, end: int | None = None) -> Lengths:
        """Those of the rows from `first` to before `end`."""
        return np.diff(self.offsets[first : len(self.offsets) if end is None else end + 1])

    def lengths_of(self, rows: Rows) -> Lengths:
        return self.offsets[rows + 1] - self.offsets[rows]

    @property
    def longest(self) -> int:
        parts = range(0, len(self), BLOCK)
        return max((int(self.lengths(first, first + BLOCK).max()) for first in parts), default=0)

    def parts(self, rows: Rows) -> Iterable[tuple["Ragged", Rows, Rows]]:
        return [(self, np.arange(len(rows)), rows)]


@dataclass(frozen=True)
class Store:
    """A file of columns; the tensors are memory-mapped, `about` is the description."""

    file: Path
    about: JsonObject
    tensors: Mapping[str, Array]

    @property
    def key(self) -> str:
        """Names the content."""
        return self.file.stem

    def rows(self, name: str, kind: npt.DTypeLike, shape: tuple[int, ...] = ()) -> Array:
        """A column whose rows have this shape.

        Raises:
            ValueError: there is none, or it has another type or shape.
        """
        tensor = self.tensors.get(name)
        if tensor is None or tensor.dtype != kind or tensor.shape[1:] != shape or not tensor.ndim:
            raise ValueError(f"{name} does not hold rows of shape {shape} in {np.dtype(kind)}")
        return tensor

    def numbers(self, name: str, count: int, limit: int) -> npt.NDArray[np.int64]:
        """A column of `count` numbers from 0 to below `limit`, such as labels.

        Raises:
            ValueError: there is none, or it is another one.
        """
        numbers = self.rows(name, np.int64)
        if len(numbers) != count or numbers.min() < 0 or numbers.max() >= limit:
            raise ValueError(f"{name} does not hold {count} numbers from 0 to below {limit}")
        return numbers

    def sequences(self, name: str, limit: int) -> Ragged:
        """A column of sequences, whose values are all below `limit`.

        Raises:
            ValueError: there is none, or a value or an offset is out of range.
        """
        # They are used as indices of C arrays, so all of them are checked.
        values, offsets = self.tensors.get(name), self.rows(f"{name}{OFFSETS_SUFFIX}", np.int64)
        if values is None or values.ndim != 1 or values.dtype.kind != "u" or not len(offsets):
            raise ValueError(f"{name} does not hold sequences")
        for first in range(0, len(offsets), BLOCK):
            if (np.diff(offsets[first : first + BLOCK + 1]) < 0).any():
                raise ValueError(f"{name}{OFFSETS_SUFFIX}: the offsets are not in order")
        if offsets[0] != 0 or offsets[-1] != len(values):
            raise ValueError(f"{name}{OFFSETS_SUFFIX}: not those of {len(values)} values")
        if len(values) and values.max() >= limit:
            raise ValueError(f"{name} holds {values.max()}; every value is below {limit}")
        return Ragged(values, offsets)


def read_store(file: Path, *, verified: bool = False) -> Store:
    """Maps a store into memory, whose SHA-256 is computed unless it was `verified` before.

    Raises:
        ValueError, LookupError, TypeError, OSError: it has changed, or is no store.
    """
    header = read_header(file)
    described = header.metadata
    if not verified and described["sha256"] != _digest_of_content(file, header):
        raise ValueError("the content differs from what was written")
    # As a plain array: one of numpy's class of mapped files takes longer to index.
    content = np.asarray(np.memmap(file, np.uint8, "r", header.start))
    tensors = {}
    for name, entry in header.entries.items():
        first, end = entry.data_offsets
        tensors[name] = content[first:end].view(DTYPES[entry.dtype]).reshape(entry.shape)
    return Store(file, json.loads(described["about"]), tensors)


def _digest_of_content(file: Path, header: Header) -> str:
    hashed = _hash(header.metadata["about"], {n: e.model_dump() for n, e in header.entries.items()})
    with file.open("rb") as content:
        content.seek(header.start)
        while block := content.read(BLOCK):
            hashed.update(block)
    return hashed.hexdigest()


def _hash(about: str, entries: Mapping[str, object]) -> "hashlib._Hash":
    return hashlib.sha256(json.dumps([about, entries], sort_keys=True).encode())


class StoreWriter:
    """Columns that grow on the disk, each in a file of its own.

    Attributes:
        longest: the most numbers in a sequence, by column.
        sizes: the rows of each tensor.
    """

    def __init__(self, folder: Path) -> None:
        self.longest: dict[str, int] = {}
        self.sizes: dict[str, int] = {}
        self._folder = folder
        self._files: dict[str, BinaryIO] = {}
        self._kinds: dict[str, tuple[np.dtype[np.generic], tuple[int, ...]]] = {}

    def add(self, name: str, rows: Array) -> None:
        """Adds rows to a column, all of one type and shape."""
        kind = rows.dtype, rows.shape[1:]
        if name not in self._files:
            self._files[name] = (self._folder / f"{len(self._files)}").open("w+b")
            self._kinds[name], self.sizes[name] = kind, 0
        assert self._kinds[name] == kind, f"{name}: {kind} in a column of {self._kinds[name]}"
        self._files[name].write(np.ascontiguousarray(rows).data)
        self.sizes[name] += len(rows)

    def add_sequences(self, name: str, values: Ids, lengths: Lengths) -> None:
        """Adds sequences of these lengths, whose values follow one another.

        Raises:
            DataError: a sequence has more than 2,147,483,647 values.
        """
        longest = int(lengths.max(initial=0))
        if longest > LONGEST_SEQUENCE:
            raise DataError(
                "a text is too long to be stored.",
                expected=f"at most {LONGEST_SEQUENCE:,} tokens",
                got=f"{longest:,} tokens",
                do="split it",
            )
        if name not in self.sizes:
            self.add(f"{name}{OFFSETS_SUFFIX}", np.zeros(1, np.int64))
        before = self.sizes.get(name, 0)
        self.add(name, values)
        self.add(f"{name}{OFFSETS_SUFFIX}", before + np.cumsum(lengths, dtype=np.int64))
        self.longest[name] = max(self.longest.get(name, 0), longest)

    def close(self) -> None:
        for file in self._files.values():
            file.close()

    def join(self, file: Path, about: Mapping[str, object]) -> None:
        """Writes the store, and removes what was written before, a column at a time."""
        names = sorted(self._files, key=lambda name: -self._kinds[name][0].itemsize)  # aligned
        entries, start = {}, 0
        for name in names:
            kind, shape = self._kinds[name]
            end = self._files[name].tell() + start
            dtype = next(name_of for name_of, type_of in DTYPES.items() if type_of == kind)
            entries[name] = {"dtype": dtype, "shape": (self.sizes[name], *shape)}
            entries[name]["data_offsets"] = (start, end)
            start = end
        described = json.dumps(about, ensure_ascii=False)
        hashed = _hash(described, entries)
        with file.open("wb") as whole:
            for digest in ("0" * 64, None):
                metadata = {"about": described, "sha256": digest or hashed.hexdigest()}
                header = json.dumps({"__metadata__": metadata, **entries}).encode()
                header += b" " * (-len(header) % 8)
                whole.seek(0)
                whole.write(len(header).to_bytes(8, "little") + header)
                if digest is None:
                    break
                for name in names:
                    column = self._files[name]
                    column.seek(0)
                    while block := column.read(BLOCK):
                        hashed.update(block)
                        whole.write(block)
                    column.close()
                    Path(column.name).unlink()


def write_store(file: Path, fill: Callable[[StoreWriter], Mapping[str, object]]) -> None:
    """Writes a store atomically; `fill` adds the columns and returns the description (JSON).

    Raises:
        OSError: the disk refuses; nothing is left behind.
    """
    with working_folder(file) as folder:
        writer = StoreWriter(folder)
        try:
            writer.join(folder / file.name, fill(writer))
        finally:
            writer.close()
        force_to_disk(folder / file.name)
        (folder / file.name).replace(file)
        force_to_disk(file.parent)


@contextmanager
def cached_store(
    cache: Path, identity: object, fill: Callable[[StoreWriter], Mapping[str, object]]
) -> Iterator[Store]:
    """The store of this content; if the cache has none, it is written.

    Args:
        identity: JSON that changes whenever the content changes.
        fill: see `write_store`.

    Raises:
        DataError: the cache cannot be written; the store is damaged, or the block raises ValueError
            because it has unexpected contents.
    """
    content = json.dumps([VERSION, identity], sort_keys=True)
    file = cache / f"{hashlib.sha256(content.encode()).hexdigest()[:32]}{STORE_SUFFIX}"
    if not file.exists():
        try:
            write_store(file, fill)
        except OSError as error:
            raise DataError(
                "the prepared data cannot be written.",
                got=error.strerror,
                do="free some space, or name another cache folder",
                place=Location(cache),
            ) from None
    try:
        yield read_store(file)
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise DataError(
            "the prepared data are damaged.",
            got=str(error),
            do="delete this file; it is prepared again",
            place=Location(file),
        ) from None


def id_type(size: int) -> np.dtype[np.unsignedinteger]:
    """The type of token ids of a vocabulary of this size."""
    return np.dtype(np.uint16 if size <= 1 << 16 else np.uint32)


def digest(path: Path) -> str:
    """The SHA-256 of a file's bytes; "" if it cannot be read, which opening it reports."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""
