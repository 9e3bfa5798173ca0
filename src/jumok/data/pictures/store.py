"""Images as bytes on disk: created once, and memory-mapped (`jumok.data.store`).

The columns are `pixels` (uint8, height x width x colours) and `labels`, their numbers.
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from jumok.data.pictures.corpus import PictureExample, PictureSource, Shape
from jumok.data.store import StoreWriter, cached_store
from jumok.data.texts.examples import sorted_labels
from jumok.errors import DataError


@dataclass(frozen=True)
class PictureStore:
    """Prepared images.

    Attributes:
        pixels: (picture height width colours), bytes.
        numbers: for each image, the index of its label in `labels`.
        labels: in alphabetical order.
        left_out: the errors of the images that are not in the store.
        features: of views of each image (picture view channels rows columns), which a pretrained
            encoder has computed of the pixels; None: the model reads these.
    """

    key: str
    pixels: npt.NDArray[np.uint8]
    numbers: npt.NDArray[np.int64]
    labels: tuple[str, ...]
    left_out: tuple[str, ...] = ()
    features: npt.NDArray[np.float16] | None = None

    def __len__(self) -> int:
        return len(self.numbers)

    def only(self, rows: npt.NDArray[np.int64]) -> "PictureStore":
        key = hashlib.sha256(f"{self.key} {rows.tolist()}".encode()).hexdigest()[:32]
        return PictureStore(key, self.pixels[rows], self.numbers[rows], self.labels)

    def hold_out(self, count: int) -> tuple["PictureStore", "PictureStore"]:
        """The training images, and `count` held-out ones; at most a tenth, at least one.

        They are chosen by a hash of their pixels: two equal images are on the same side.
        """
        hashes = np.array(
            [int.from_bytes(hashlib.blake2b(picture.tobytes(), digest_size=7).digest(), "big")
             for picture in self.pixels], dtype=np.int64,
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
        labels: the permitted ones, in order; None: those that occur.
        skip_damaged: leave out images that cannot be read or have no permitted label.

    Raises:
        DataError: what reading raises; a label that is not in `labels`; no image is left; the cache
            cannot be written.
    """
    contents = [source.identity() for source in sources]
    described = ["images", contents, asdict(shape), labels, skip_damaged]

    def fill(writer: StoreWriter) -> dict[str, object]:
        pictures = (picture for source in sources for picture in source.read())
        return _write_pictures(writer, _with_faults(pictures, labels, skip_damaged), shape, labels)

    with cached_store(cache, described, fill) as store:
        names, left_out = tuple(store.about["labels"]), tuple(store.about["left_out"])
        pixels = store.rows("pixels", np.uint8, (shape.height, shape.width, shape.colours))
        numbers = store.numbers("labels", len(pixels), len(names))
        return PictureStore(store.key, pixels, numbers, names, left_out)


def _with_faults(
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


def _write_pictures(
    writer: StoreWriter,
    pictures: Iterator[PictureExample],
    shape: Shape,
    allowed: Sequence[str] | None,
) -> dict[str, object]:
    known: dict[str, int] = {} if allowed is None else {name: i for i, name in enumerate(allowed)}
    numbers: list[int] = []
    left_out: list[str] = []
    for picture in pictures:
        if isinstance(picture.pixels, DataError):
            left_out.append(f"{picture.pixels.place}: {picture.pixels.what}")
            continue
        writer.add("pixels", shape.fit(picture.pixels)[None])
        numbers.append(known.setdefault(picture.label, len(known)))
    if not numbers:
        raise DataError("no image is left.", got="; ".join(left_out[:3]) or "no image at all")
    names = list(known) if allowed is not None else list(sorted_labels(known))
    order = np.array([names.index(name) for name in known], dtype=np.int64)
    writer.add("labels", order[numbers])
    return {"labels": names, "left_out": left_out}


def _unknown(picture: PictureExample, allowed: Sequence[str]) -> DataError:
    return DataError(
        "the label is not one of the training labels.",
        expected=", ".join(allowed),
        got=repr(picture.label),
        do="correct the label, or train on images with it",
        place=picture.place,
    )
