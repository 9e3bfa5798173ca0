"""Images as bytes on disk: created once, memory-mapped, and found by a hash of their content.

A store is a folder: `pixels` has all images one after another (uint8, height x width x colours),
`labels` the numbers of their labels (int64), and `store.json` the names of the labels.
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from jumok.data.cache import cached_folder, opened
from jumok.data.pictures.corpus import PictureExample, PictureSource, Shape
from jumok.data.texts.examples import in_order
from jumok.errors import DataError

VERSION = 1


@dataclass(frozen=True)
class PictureStore:
    """Prepared pictures.

    Attributes:
        key: names the content.
        pixels: (picture height width colours), bytes.
        numbers: for each image, the index of its label in `labels`.
        labels: in alphabetical order.
        left_out: the errors of the images that are not in the store.
    """

    key: str
    pixels: npt.NDArray[np.uint8]
    numbers: npt.NDArray[np.int64]
    labels: tuple[str, ...]
    left_out: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.numbers)

    def only(self, rows: npt.NDArray[np.int64]) -> "PictureStore":
        """These images, in this order, in memory."""
        key = hashlib.sha256(f"{self.key} {rows.tolist()}".encode()).hexdigest()[:32]
        return PictureStore(key, self.pixels[rows], self.numbers[rows], self.labels)

    def hold_out(self, count: int) -> tuple["PictureStore", "PictureStore"]:
        """The training images, and `count` held-out ones; at most a tenth, at least one.

        They are chosen by a hash of their pixels: two equal images are on the same side.
        """
        hashes = np.array(
            [int.from_bytes(hashlib.blake2b(each.tobytes(), digest_size=7).digest(), "big")
             for each in self.pixels], dtype=np.int64,
        )  # fmt: skip
        last = np.sort(hashes)[max(min(count, len(self) // 10), 1) - 1]
        out = hashes <= last
        if out.all():
            raise DataError(
                "no validation data is given, and there is too little data to hold some out.",
                expected="at least two different images",
                do="give [[data.validation]] in the recipe, or more training data",
            )
        return self.only(np.flatnonzero(~out)), self.only(np.flatnonzero(out))


def prepare_pictures(
    sources: Sequence[PictureSource],
    shape: Shape,
    cache: Path,
    *,
    labels: Sequence[str] | None = None,
    skip_damaged: bool = False,
) -> PictureStore:
    """The images of all sources, from the cache if the same content was prepared before.

    Args:
        shape: the shape of every image.
        labels: the permitted labels, in order; None: those that occur.
        skip_damaged: leave out images that cannot be read or have no permitted label, instead of
            stopping at the first.

    Raises:
        DataError: what reading raises; a label that is not in `labels`; no image is left; the cache
            cannot be written.
    """
    contents = [source.identity() for source in sources]
    described = [VERSION, contents, asdict(shape), labels, skip_damaged]

    def fill(partial: Path) -> dict[str, object]:
        pictures = (each for source in sources for each in source.read())
        return _write(partial, _checked(pictures, labels, skip_damaged), shape, labels)

    return _open(cached_folder(cache, described, fill, "prepared images"), shape)


def _checked(
    pictures: Iterator[PictureExample], allowed: Sequence[str] | None, skip: bool
) -> Iterator[PictureExample]:
    """All images; those that cannot be used have their error, or raise it."""
    for picture in pictures:
        error = picture.pixels if isinstance(picture.pixels, DataError) else None
        if error is None and allowed is not None and picture.label not in allowed:
            error = _unknown(picture, allowed)
        if error is not None and not skip:
            raise DataError(
                error.what,
                expected=error.expected,
                got=error.got,
                do=f"{error.do or 'repair or remove it'}; data.skip_damaged = true skips it",
                place=error.place,
            )
        yield picture if error is None else replace(picture, pixels=error)


def _write(
    folder: Path, pictures: Iterator[PictureExample], shape: Shape, allowed: Sequence[str] | None
) -> dict[str, object]:
    """Writes the files of a store; returns the contents of `store.json`."""
    found: dict[str, int] = {} if allowed is None else {name: i for i, name in enumerate(allowed)}
    numbers: list[int] = []
    left_out: list[str] = []
    with (folder / "pixels").open("wb") as file:
        for picture in pictures:
            if isinstance(picture.pixels, DataError):
                left_out.append(f"{picture.pixels.place}: {picture.pixels.what}")
                continue
            file.write(shape.fit(picture.pixels).tobytes())
            numbers.append(found.setdefault(picture.label, len(found)))
    if not numbers:
        raise DataError("no image is left.", got="; ".join(left_out[:3]) or "no image at all")
    names = list(found) if allowed is not None else list(in_order(found))
    order = np.array([names.index(name) for name in found], dtype=np.int64)
    (folder / "labels").write_bytes(order[numbers].tobytes())
    return {"labels": names, "left_out": left_out}


def _unknown(picture: PictureExample, allowed: Sequence[str]) -> DataError:
    return DataError(
        "the label is not one of the training labels.",
        expected=", ".join(allowed),
        got=repr(picture.label),
        do="correct the label, or train on images with it",
        place=picture.place,
    )


def _open(folder: Path, shape: Shape) -> PictureStore:
    """The store in this folder, its pixels memory-mapped."""
    with opened(folder, "images are", "images") as about:
        labels, left_out = tuple(about["labels"]), tuple(about["left_out"])
        numbers = np.fromfile(folder / "labels", dtype=np.int64)
        if numbers.min() < 0 or numbers.max() >= len(labels):
            raise ValueError(f"labels: a number that is not from 0 to {len(labels) - 1}")
        pixels = np.memmap(folder / "pixels", dtype=np.uint8, mode="r")
        shaped = pixels.reshape(len(numbers), shape.height, shape.width, shape.colours)
        return PictureStore(folder.name, shaped, numbers, labels, left_out)
