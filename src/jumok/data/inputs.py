"""Pictures as arrays on disk: read and scaled once, mapped into memory, found by their content.

What a model reads of a picture is one array, of the same shape for all: its pixels at the model's
size, or features that somebody computed before.
"""

import hashlib
import io
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from os.path import splitext
from pathlib import Path
from tokenize import TokenError
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError
from safetensors.numpy import load

from jumok.data.cache import cached_folder, opened
from jumok.data.damage import ANYTHING
from jumok.data.images import PictureFiles, read_image, resize
from jumok.errors import DataError, Place

VERSION = 1
VALUES = "values"
FEATURE_SUFFIXES = (".npy", ".safetensors")

Array = npt.NDArray[Any]


class InputReader(NamedTuple):
    """How a file's content becomes what a model reads.

    Attributes:
        shape, kind: of every array; kind is numpy's name of the number format.
        read: (content, name) -> the array.
    """

    shape: tuple[int, ...]
    kind: str
    read: Callable[[bytes, str], Array]


def pixel_reader(size: int) -> InputReader:
    """Pixels (3 size size) in bytes. A picture of another shape is squeezed, and nothing is cut."""
    return InputReader((3, size, size), "uint8", partial(_pixels, size))


def _pixels(size: int, content: bytes, name: str) -> Array:
    scaled = resize(read_image(content, name), size, size)
    return np.ascontiguousarray(scaled.transpose(2, 0, 1))  # height width 3 -> 3 height width


def feature_reader(rows: int, columns: int, dim: int) -> InputReader:
    """Features (cells dim) in float32, from (cells dim) or (rows columns dim)."""
    return InputReader((rows * columns, dim), "float32", partial(_features, rows, columns, dim))


def _features(rows: int, columns: int, dim: int, content: bytes, name: str) -> Array:
    features = _tensor(content, name)
    if features.shape not in ((rows * columns, dim), (rows, columns, dim)):
        raise DataError(
            "The features have another shape than the model reads.",
            expected=f"({rows * columns}, {dim}) or ({rows}, {columns}, {dim})",
            got=str(features.shape),
            do="make them anew, or train with their rows, columns and dim in [model.encoder]",
            place=Place(name),
        )
    with np.errstate(over="ignore"):
        numbers = features.reshape(rows * columns, dim).astype(np.float32)
    if not np.isfinite(numbers).all():
        raise DataError(
            "The features hold what is not a number of float32.",
            expected="finite numbers below 3.4e38",
            got=str(features.reshape(numbers.shape)[~np.isfinite(numbers)][0]),
            do="make the file anew",
            place=Place(name),
        )
    return numbers


def _tensor(content: bytes, name: str) -> Array:
    """The one array in a .npy or .safetensors file; nothing in it is executed."""
    try:
        if name.endswith(".npy"):
            features = np.lib.format.read_array(io.BytesIO(content), allow_pickle=False)
        else:
            (features,) = load(content).values()
    except (SafetensorError, TokenError, MemoryError, *ANYTHING) as error:
        raise DataError(
            "The features cannot be read.",
            expected="a .npy file, or a .safetensors file with one tensor",
            got=str(error),
            place=Place(name),
        ) from None
    if features.dtype.kind not in "fiu":
        raise DataError(
            "The features cannot be read.",
            expected="real numbers",
            got=str(features.dtype),
            place=Place(name),
        )
    return features


class FeatureSource:
    """A folder with a file of features for each picture: of "a.jpg" a.npy or a.safetensors.

    Raises:
        DataError: there is no such folder.
    """

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            raise DataError("There is no such folder of features.", place=Place(folder))
        self.path = folder
        found = [each for each in folder.rglob("*") if each.suffix in FEATURE_SUFFIXES]
        self._files = {
            each.relative_to(folder).with_suffix("").as_posix(): each for each in sorted(found)
        }

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._files)

    def __contains__(self, name: str) -> bool:
        return self._stem(name) in self._files

    def __len__(self) -> int:
        return len(self._files)

    def content(self, name: str) -> bytes:
        return self._files[self._stem(name)].read_bytes()

    def place(self, name: str) -> str:
        return str(self._files[self._stem(name)])

    def _stem(self, name: str) -> str:
        """ "b/a" of "b/a.jpg", and of "b/a"."""
        return name if name in self._files else Path(splitext(name)[0]).as_posix()


class Item(NamedTuple):
    """A picture's file, and where the user named it, for errors."""

    source: PictureFiles
    name: str
    place: Place


@dataclass(frozen=True)
class Inputs:
    """Arrays on disk.

    Attributes:
        values: one array a kept picture, mapped and not read.
        kept: the indexes of the items that could be read.
        faults: what was wrong with the others.
        key: names the content.
    """

    values: Array
    kept: tuple[int, ...]
    faults: tuple[str, ...]
    key: str


def store_inputs(
    items: Iterable[Item], reader: InputReader, cache: Path, *, skip: bool = False
) -> Inputs:
    """The arrays of all items, from the cache if the same files were read before.

    Args:
        skip: leave out what cannot be read, instead of stopping at the first.

    Raises:
        DataError: a file that cannot be read (unless skipped); nothing is left; the cache cannot
            be written.
    """
    items = list(items)
    contents = [_digest(item) for item in items]
    identity = ["inputs", VERSION, reader.shape, reader.kind, skip, contents]
    folder = cached_folder(
        cache, identity, lambda partial: _write(items, reader, partial, skip), "prepared pictures"
    )
    return _open(folder, reader, len(items))


def _digest(item: Item) -> str:
    return hashlib.sha256(item.source.content(item.name)).hexdigest()


def _write(items: list[Item], reader: InputReader, folder: Path, skip: bool) -> dict[str, Any]:
    """The values of all items; gives what the folder's `store.json` keeps."""
    rows, faults = [], []
    with (folder / VALUES).open("wb") as file:
        for index, item in enumerate(items):
            try:
                file.write(read_item(item, reader).tobytes())
                rows.append(index)
            except DataError as error:
                if not skip:
                    raise
                faults.append(f"{item.place}: {error.what}")
    if not rows:
        raise DataError("Not one of the pictures can be read.", got=faults[0])
    return {"kept": rows, "faults": faults}


def read_item(item: Item, reader: InputReader) -> Array:
    """The array; an error names the row that named the picture."""
    name = item.source.place(item.name)
    try:
        return reader.read(item.source.content(item.name), name)
    except DataError as error:
        raise DataError(
            f"The picture of this row cannot be used: {error.what}",
            expected=error.expected,
            got=f"{name}: {error.got}" if error.got else name,
            do=f"{error.do or 'mend the file'}, take the row out, or set data.skip_damaged = true",
            place=item.place,
        ) from None


def _open(folder: Path, reader: InputReader, items: int) -> Inputs:
    with opened(folder, "pictures are", "pictures") as about:
        rows = np.array(about["kept"], dtype=np.int64)
        if rows[0] < 0 or rows[-1] >= items or (np.diff(rows) <= 0).any():
            raise ValueError(f"store.json keeps other rows than 0 to {items - 1} in order")
        values = np.memmap(folder / VALUES, dtype=reader.kind, mode="r")
        shaped = values.reshape(len(rows), *reader.shape)
        return Inputs(shaped, tuple(rows.tolist()), tuple(about["faults"]), folder.name)
