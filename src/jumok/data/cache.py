"""Sequences of numbers on disk: created once, memory-mapped, found by a hash of their content."""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from jumok.data.files.atomic import atomic_folder
from jumok.errors import DataError, Place
from jumok.json_types import JsonObject

STORE = "store.json"
LAYOUT = 2  # of every store: 2 has the digests of its files

Lengths = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Flat:
    """Sequences one after another: the i-th is `values[ends[i] - lengths[i] : ends[i]]`."""

    values: npt.NDArray[np.unsignedinteger]
    ends: Lengths
    lengths: npt.NDArray[np.int32]

    def __getitem__(self, index: int) -> npt.NDArray[np.unsignedinteger]:
        end = int(self.ends[index])
        return self.values[end - int(self.lengths[index]) : end]


def map_flat(folder: Path, name: str, kind: np.dtype[np.unsignedinteger], limit: int) -> Flat:
    """The sequences of this name in a store's folder, mapped into memory.

    Values and ends are used as indices of tables and of C arrays, so all of them are checked here,
    once.

    Args:
        limit: every value is below it: the size of the vocabulary, or the number of labels.

    Raises:
        ValueError: a value or an end is out of range.
        OSError: a file cannot be read.
    """
    ends = np.memmap(folder / f"{name}.ends", dtype=np.int64, mode="r")
    values = np.memmap(folder / f"{name}.values", dtype=kind, mode="r")
    lengths = np.diff(ends, prepend=0)
    if lengths.min() < 0 or lengths.max() > np.iinfo(np.int32).max:
        raise ValueError(f"{name}.ends: an end comes before the previous one")
    if len(values) != ends[-1]:
        raise ValueError(f"{name}.values holds {len(values)} values, not {ends[-1]}")
    if len(values) and values.max() >= limit:
        raise ValueError(f"{name}.values holds {values.max()}; every value is below {limit}")
    return Flat(values, ends, lengths.astype(np.int32))


class FlatWriter:
    """A `Flat` that grows on disk. It is a context manager, which closes the files."""

    def __init__(self, folder: Path, name: str, kind: np.dtype[np.unsignedinteger]) -> None:
        self._kind, self._end = kind, 0
        self._files: list[BinaryIO] = [
            (folder / f"{name}.values").open("wb"),
            (folder / f"{name}.ends").open("wb"),
        ]

    def __enter__(self) -> "FlatWriter":
        return self

    def __exit__(self, *_: object) -> None:
        with ExitStack() as stack:
            for file in self._files:
                stack.enter_context(file)

    def append(self, values: npt.NDArray[np.unsignedinteger], lengths: Lengths) -> None:
        """Adds sequences of these lengths, whose values follow one another."""
        ends = self._end + np.cumsum(lengths, dtype=np.int64)
        self._files[0].write(values.astype(self._kind).tobytes())
        self._files[1].write(ends.tobytes())
        self._end += int(lengths.sum())


def cached_folder(
    cache: Path,
    identity: object,
    fill: Callable[[Path], Mapping[str, object]],
    what: str = "prepared corpus",
) -> Path:
    """The folder of this content in the cache; if there is none, `fill` writes it.

    Args:
        identity: JSON that changes whenever the content changes.
        fill: writes everything into the given folder, and returns the contents of `store.json`.
        what: what is created, in the words of the error.

    Raises:
        DataError: the cache cannot be written.
    """
    content = json.dumps([LAYOUT, identity], sort_keys=True)
    folder = cache / hashlib.sha256(content.encode()).hexdigest()[:32]
    if folder.is_dir():
        return folder
    try:
        with atomic_folder(folder) as partial:
            about = fill(partial)
            files = {path.name: digest(path) for path in sorted(partial.iterdir())}
            described = {"about": about, "files": files, "sha256": _digest_of(about, files)}
            (partial / STORE).write_text(json.dumps(described, ensure_ascii=False), "utf-8")
    except OSError as error:
        raise DataError(
            f"the {what} cannot be written.",
            got=error.strerror,
            do="free some space, or name another cache folder",
            place=Place(cache),
        ) from None
    return folder


@contextmanager
def opened(folder: Path, what: str, source: str) -> Iterator[JsonObject]:
    """The contents of `store.json` of a store, after all of its files were checked.

    Args:
        what, source: "corpus is" and "corpus": what is damaged and what it is created from, in the
            words of the error.

    Raises:
        DataError: a file is missing or changed, or the block raises ValueError because a file has
            unexpected contents.
    """
    try:
        described = json.loads((folder / STORE).read_text("utf-8"))
        about, files = described["about"], described["files"]
        if described["sha256"] != _digest_of(about, files):
            raise ValueError(f"{STORE} differs from what was written")
        for name, written in files.items():
            if digest(folder / name) != written:
                raise ValueError(f"{name} differs from what was written")
        yield about
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise DataError(
            f"the prepared {what} damaged.",
            got=str(error),
            do=f"delete this folder; it is rebuilt from the {source}",
            place=Place(folder),
        ) from None


def _digest_of(about: object, files: object) -> str:
    return hashlib.sha256(json.dumps([about, files], sort_keys=True).encode()).hexdigest()


def digest(path: Path) -> str:
    """The SHA-256 of a file's bytes; "" if it cannot be read, which opening it reports."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""
