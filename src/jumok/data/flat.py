"""Sequences of numbers on disk: made once, mapped into memory, found again by their content."""

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from jumok.errors import DataError, Place

STORE = "store.json"

Lengths = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Flat:
    """Sequences one after another: the i-th is `values[ends[i] - lengths[i] : ends[i]]`."""

    values: npt.NDArray[np.unsignedinteger[Any]]
    ends: Lengths
    lengths: npt.NDArray[np.int32]

    def __getitem__(self, index: int) -> npt.NDArray[np.unsignedinteger[Any]]:
        end = int(self.ends[index])
        return self.values[end - int(self.lengths[index]) : end]


def map_flat(folder: Path, name: str, kind: np.dtype[Any]) -> Flat:
    """The sequences of this name in a store's folder, mapped and not read."""
    ends = np.memmap(folder / f"{name}.ends", dtype=np.int64, mode="r")
    values = np.memmap(folder / f"{name}.values", dtype=kind, mode="r")
    if len(values) != ends[-1]:
        raise ValueError(f"{name}.values holds {len(values)} values, not {ends[-1]}")
    return Flat(values, ends, np.diff(ends, prepend=0).astype(np.int32))


class FlatWriter:
    """A `Flat` that grows on disk. Used as a context; leaving it puts everything on the disk."""

    def __init__(self, folder: Path, name: str, kind: np.dtype[Any]) -> None:
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
                file.flush()
                os.fsync(file.fileno())

    def append(self, values: npt.NDArray[np.unsignedinteger[Any]], lengths: Lengths) -> None:
        """Add sequences of these lengths, whose values stand one after another."""
        ends = self._end + np.cumsum(lengths, dtype=np.int64)
        self._files[0].write(values.astype(self._kind).tobytes())
        self._files[1].write(ends.tobytes())
        self._end += int(lengths.sum())


def kept(
    cache: Path,
    identity: object,
    fill: Callable[[Path], dict[str, Any]],
    what: str = "prepared corpus",
) -> Path:
    """The folder of this content in the cache; where there is none, `fill` makes it.

    Args:
        identity: JSON that changes whenever the content would.
        fill: writes everything into the folder it is given, and tells what `store.json` keeps.
        what: is made, in the words of the error.

    Raises:
        DataError: the cache cannot be written.
    """
    key = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:32]
    folder = cache / key
    if folder.is_dir():
        return folder
    try:
        cache.mkdir(parents=True, exist_ok=True)
        partial = Path(tempfile.mkdtemp(prefix=f".{key}.", dir=cache))
        try:
            _commit(partial, folder, fill(partial))
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    except OSError as error:
        raise DataError(
            f"The {what} cannot be written.",
            got=error.strerror,
            do="free some space, or name another cache folder",
            place=Place(cache),
        ) from None
    return folder


def _commit(partial: Path, folder: Path, described: dict[str, Any]) -> None:
    """Make the finished folder appear under its name, whole or not at all."""
    with (partial / STORE).open("w", encoding="utf-8") as file:
        json.dump(described, file, ensure_ascii=False)
        file.flush()
        os.fsync(file.fileno())
    try:
        partial.rename(folder)
    except OSError:
        # Another process finished the same store first; its content is the same.
        if not folder.is_dir():
            raise


def digest(path: Path) -> str:
    """The SHA-256 of a file's bytes; "" where it cannot be read, of which reading it will tell."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""
