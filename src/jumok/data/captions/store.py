"""Images as arrays on disk: read and scaled once, and memory-mapped (`jumok.data.store`).

A model's input for an image is one array: its pixels at the model's size, or its features.
"""

import io
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from os.path import splitext
from pathlib import Path
from tokenize import TokenError
from typing import NamedTuple

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load

from jumok.data.files.damage import ANYTHING
from jumok.data.files.formats import HEAD, kind_of_bytes
from jumok.data.files.images import PictureFiles, content_digest, content_of, read_image
from jumok.data.pictures.corpus import Shape
from jumok.data.store import Array, StoreWriter, cached_store
from jumok.errors import DataError, Location

FEATURE_SUFFIXES = (".npy", ".safetensors")


class InputReader(NamedTuple):
    """Turns the content of a file into a model's input.

    Attributes:
        shape, kind: of every array; kind is numpy's name of the dtype.
        read: (content, name in errors) -> the array.
        settings: what else the array depends on.
    """

    shape: tuple[int, ...]
    kind: str
    read: Callable[[bytes, str], Array]
    settings: str = ""


def pixel_reader(size: int, resample: str = "bilinear", resized: int | None = None) -> InputReader:
    """Pixels (3 size size) in bytes.

    Args:
        resample, resized: as in `Shape`; without `resized` nothing is cut off.
    """
    shape = Shape(size, size, 3, resample, resized)
    settings = "" if shape == Shape(size, size, 3) else str(shape)
    return InputReader((3, size, size), "uint8", partial(_pixels, shape), settings)


def _pixels(shape: Shape, content: bytes, name: str) -> Array:
    scaled = shape.fit(read_image(content, name))
    return np.ascontiguousarray(scaled.transpose(2, 0, 1))  # height width 3 -> 3 height width


def feature_reader(rows: int, columns: int, dim: int) -> InputReader:
    """Features (cells dim) in float32, from (cells dim) or (rows columns dim)."""
    return InputReader((rows * columns, dim), "float32", partial(_features, rows, columns, dim))


def _features(rows: int, columns: int, dim: int, content: bytes, name: str) -> Array:
    features = _tensor(content, name)
    if features.shape not in ((rows * columns, dim), (rows, columns, dim)):
        raise DataError(
            "the features do not have the model's input shape.",
            expected=f"({rows * columns}, {dim}) or ({rows}, {columns}, {dim})",
            got=str(features.shape),
            do="compute them again, or set their rows, columns and dim in [model.encoder]",
            place=Location(name),
        )
    with np.errstate(over="ignore"):
        numbers = features.reshape(rows * columns, dim).astype(np.float32)
    if not np.isfinite(numbers).all():
        raise DataError(
            "the features contain values that are not finite in float32.",
            expected="finite numbers below 3.4e38",
            got=str(features.reshape(numbers.shape)[~np.isfinite(numbers)][0]),
            do="compute the file again",
            place=Location(name),
        )
    return numbers


def _tensor(content: bytes, name: str) -> Array:
    """The one array in a .npy or .safetensors file; nothing in it is executed."""
    if kind_of_bytes(content[:HEAD]) == "picture":
        raise DataError(
            "this is an image, and the model reads features.",
            expected="a .npy file, or a .safetensors file with one tensor",
            do="compute its features with the program that computed those of the training data",
            place=Location(name),
        )
    try:
        if name.endswith(".npy"):
            features = np.lib.format.read_array(io.BytesIO(content), allow_pickle=False)
        else:
            (features,) = load(content).values()
    except (SafetensorError, TokenError, MemoryError, *ANYTHING) as error:
        raise DataError(
            "the features cannot be read.",
            expected="a .npy file, or a .safetensors file with one tensor",
            got=str(error),
            place=Location(name),
        ) from None
    if features.dtype.kind not in "fiu":
        raise DataError(
            "the features cannot be read.",
            expected="real numbers",
            got=str(features.dtype),
            place=Location(name),
        )
    return features


class FeatureSource:
    """A folder with a file of features for each image: a.npy or a.safetensors for "a.jpg"."""

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            raise DataError("there is no such folder of features.", place=Location(folder))
        self.path = folder
        files = [file for file in folder.rglob("*") if file.suffix in FEATURE_SUFFIXES]
        self._files = {
            file.relative_to(folder).with_suffix("").as_posix(): file for file in sorted(files)
        }

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._files)

    def __contains__(self, name: str) -> bool:
        return self._stem(name) in self._files

    def __len__(self) -> int:
        return len(self._files)

    def content(self, name: str) -> bytes:
        return content_of(self._files[self._stem(name)])

    def place(self, name: str) -> str:
        return str(self._files[self._stem(name)])

    def _stem(self, name: str) -> str:
        """ "b/a" of "b/a.jpg", and of "b/a"."""
        return name if name in self._files else Path(splitext(name)[0]).as_posix()


class Item(NamedTuple):
    """An image's file, and the place where the user named it."""

    source: PictureFiles
    name: str
    place: Location


@dataclass(frozen=True)
class StoredInputs:
    """Arrays on disk.

    Attributes:
        values: one array per kept image, memory-mapped.
        kept: the indices of the items that could be read.
        faults: the errors of the others.
    """

    values: Array
    kept: tuple[int, ...]
    faults: tuple[str, ...]
    key: str


def store_inputs(
    items: Iterable[Item], reader: InputReader, cache: Path, *, skip: bool = False
) -> StoredInputs:
    """The arrays of all items, from the cache if the same files were read before.

    Args:
        skip: leave out items that cannot be read.

    Raises:
        DataError: a file that cannot be read (unless skipped); nothing is left; the cache cannot be
            written.
    """
    items = list(items)
    contents = [content_digest(item.source, item.name) for item in items]
    identity = ["inputs", reader.shape, reader.kind, skip, contents]
    identity += [reader.settings] * bool(reader.settings)

    fill = partial(_write_inputs, items, reader, skip)
    with cached_store(cache, identity, fill) as store:
        rows = np.array(store.about["kept"], dtype=np.int64)
        if rows[0] < 0 or rows[-1] >= len(items) or (np.diff(rows) <= 0).any():
            raise ValueError(f"its description does not hold the rows 0 to {len(items) - 1}")
        values = store.rows("values", reader.kind, reader.shape)
        if len(values) != len(rows):
            raise ValueError(f"values does not hold {len(rows)} rows")
        return StoredInputs(values, tuple(rows.tolist()), tuple(store.about["faults"]), store.key)


def _write_inputs(
    items: list[Item], reader: InputReader, skip: bool, writer: StoreWriter
) -> dict[str, object]:
    rows, faults = [], []
    for index, item in enumerate(items):
        try:
            writer.add("values", read_item(item, reader)[None])
            rows.append(index)
        except DataError as error:
            if not skip:
                raise
            faults.append(f"{item.place}: {error.what}")
    if not rows:
        raise DataError("none of the images can be read.", got=faults[0])
    return {"kept": rows, "faults": faults}


def read_item(item: Item, reader: InputReader) -> Array:
    """The array; an error names the row that named the image."""
    name = item.source.place(item.name)
    try:
        return reader.read(item.source.content(item.name), name)
    except DataError as error:
        raise DataError(
            f"the image of this row cannot be used: {error.what}",
            expected=error.expected,
            got=f"{name}: {error.got}" if error.got else name,
            do=f"{error.do or 'repair the file'}, remove the row, or set data.skip_damaged = true",
            place=item.place,
        ) from None
