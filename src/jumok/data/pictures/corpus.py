"""Images with labels, in three formats.

folder   a folder or zip archive of one folder a label: cat/0001.jpg, dog/0001.jpg, ...
table    a TSV file with the columns `file` and `label`; files count from the table's own folder
idx      two files of numbers, as MNIST has them; labels are their numbers as text

Source of IDX: LeCun, Cortes and Burges, "The MNIST database": two zero bytes, a type (8: unsigned
byte), the number of axes, each axis as a big-endian 32-bit number, then the values row by row.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from jaxtyping import UInt8

from jumok.data.files.images import (
    ImageSource,
    Pixels,
    archive_of,
    content_digest,
    read_image,
    resize,
)
from jumok.data.files.reading import open_bytes
from jumok.data.files.tables import read_tsv
from jumok.data.store import digest
from jumok.errors import DataError, Location

Fitted: TypeAlias = UInt8[np.ndarray, "rows columns colours"]

# ITU-R BT.601, in thousandths: how bright the eye finds red, green and blue.
BRIGHTNESS = np.array([299, 587, 114], dtype=np.uint32)

UNSIGNED_BYTE = 8  # as IDX numbers types


@dataclass(frozen=True)
class Shape:
    """The shape of a model's images; `colours` is 1 (greyscale) or 3.

    Attributes:
        resample: the filter of Pillow.
        resized: the side of the square that the image is made before the middle is cut out; None:
            it is resized to the shape.
    """

    height: int
    width: int
    colours: int
    resample: str = "bilinear"
    resized: int | None = None

    def fit(self, pixels: Pixels) -> Fitted:
        """The image, resized to this shape; (height width colours)."""
        if self.resized is not None:
            pixels = resize(pixels, self.resized, self.resized, self.resample)
            top, left = (self.resized - self.height) // 2, (self.resized - self.width) // 2
            pixels = pixels[top : top + self.height, left : left + self.width]
        elif pixels.shape[:2] != (self.height, self.width):
            pixels = resize(pixels, self.height, self.width, self.resample)
        if self.colours == 1:
            grey = (pixels @ BRIGHTNESS + 500) // 1000
            return grey.astype(np.uint8)[:, :, None]
        return pixels


@dataclass(frozen=True)
class PictureExample:
    """One image; `pixels` may be its error, which is not raised yet."""

    pixels: Pixels | DataError
    label: str
    place: Location


@dataclass(frozen=True)
class PictureSource:
    """One of: `folder`; `table`; `images` and `labels`."""

    folder: Path | None = None
    table: Path | None = None
    images: Path | None = None
    labels: Path | None = None

    @property
    def title(self) -> str:
        return str((self.folder or self.table or self.images or Path("?")).name)

    def identity(self) -> list[str]:
        """A description that changes whenever the content changes."""
        if self.folder is not None and self.folder.is_dir():
            files = ImageSource(self.folder)
            return [f"{name} {content_digest(files, name)}" for name in files.names]
        if self.table is not None:
            rows = read_tsv(self.table, ("file",))
            paths = (self.table.parent / file for (file,), _ in rows)
            once = dict.fromkeys(archive_of(path) or path for path in paths)
            return [digest(self.table), *map(digest, once)]
        return [digest(file) for file in (self.folder, self.images, self.labels) if file]

    def read(self) -> Iterator[PictureExample]:
        """Every image.

        Raises:
            DataError: there is nothing, or the format differs. An image that is damaged or has no
                label has its error instead of pixels.
        """
        if self.folder is not None:
            yield from _read_label_folders(self.folder)
        elif self.table is not None:
            yield from _read_table(self.table)
        elif self.images is not None and self.labels is not None:
            yield from _read_idx(self.images, self.labels)


def _read_label_folders(folder: Path) -> Iterator[PictureExample]:
    source = ImageSource(folder)
    if not len(source):
        raise DataError(
            "there are no images in this folder or archive.",
            expected="a folder of images for each label: cat/0001.jpg",
            place=Location(folder),
        )
    for name in source.names:
        label = PurePosixPath(name).parent.name
        place = Location(folder / name)
        if not label:
            error = DataError(
                "the image is not in the folder of a label.",
                expected="a folder of images for each label: cat/0001.jpg",
                do="move it into its label's folder, or remove it",
                place=place,
            )
            yield PictureExample(error, label, place)
            continue
        try:
            yield PictureExample(source.read(name), label, place)
        except DataError as fault:
            yield PictureExample(fault, label, place)


def _read_table(table: Path) -> Iterator[PictureExample]:
    for (file, label), row in read_tsv(table, ("file", "label")):
        place = Location(table, row)
        if not label.strip():
            error = DataError("the row has no label.", got=repr(file), place=place)
            yield PictureExample(error, "", place)
            continue
        try:
            yield PictureExample(read_image(table.parent / file), label.strip(), place)
        except DataError as fault:
            named = DataError(fault.what, got=f"{fault.place}", do=fault.do, place=place)
            yield PictureExample(named, label.strip(), place)


def _read_idx(images: Path, labels: Path) -> Iterator[PictureExample]:
    pictures, numbers = read_idx(images, 3), read_idx(labels, 1)
    if len(pictures) != len(numbers):
        raise DataError(
            "the numbers of labels and images differ.",
            expected=f"{len(pictures):,} labels, one for each image in {images.name}",
            got=f"{len(numbers):,}",
            place=Location(labels),
        )
    for index, (grey, number) in enumerate(zip(pictures, numbers, strict=True), start=1):
        place = Location(f"{images}, image {index:,}")
        yield PictureExample(np.repeat(grey[:, :, None], 3, axis=2), str(number), place)


def read_idx(path: Path, axes: int) -> npt.NDArray[np.uint8]:
    """The array in an IDX file of unsigned bytes (also .gz).

    Args:
        axes: the expected number: 1 for labels, 3 for greyscale images.

    Raises:
        DataError: it is not one, has a different number of axes, or is truncated.
    """
    with open_bytes(path) as stream:
        content = stream.read()
    header = 4 + 4 * axes
    start = content[:4]
    if len(content) < header or start[:2] != b"\0\0" or start[2] != UNSIGNED_BYTE:
        raise DataError(
            "this is not an IDX file of unsigned bytes.",
            expected="bytes that begin with 00 00 08",
            got=f"{len(content):,} bytes that begin with {start.hex(' ') or 'nothing'}",
            place=Location(path),
        )
    if start[3] != axes:
        raise DataError(
            "the IDX file has a different number of axes.",
            expected=f"{axes}: 3 for images, 1 for labels",
            got=str(start[3]),
            do="check that `images` and `labels` are not swapped",
            place=Location(path),
        )
    shape = tuple(np.frombuffer(content, ">u4", axes, offset=4).tolist())
    if len(content) - header != math.prod(shape):
        raise DataError(
            "the IDX file's length does not match its header.",
            expected=f"{' x '.join(map(str, shape))} = {math.prod(shape):,} values",
            got=f"{len(content) - header:,}",
            do="download it again",
            place=Location(path),
        )
    return np.frombuffer(content, np.uint8, offset=header).reshape(shape)
