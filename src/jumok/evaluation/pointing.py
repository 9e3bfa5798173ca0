"""Pointing accuracy: does a word attend to the object that it names?

A noun of a caption *points* correctly if the centre of its highest cell lies in one of its gold
boxes. The share of its attention inside the boxes is reported too, and that of uniform attention.

Source: the pointing game of Zhang et al. 2016, "Top-down Neural Attention by Excitation Backprop",
section 4.2, with a tolerance of 15 pixels around the box; here the signature states the tolerance.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from jumok.bundle.card import Score
from jumok.data.captions.boxes import Box, Boxes
from jumok.data.captions.corpus import Captioned
from jumok.errors import DataError

WORD_PUNCTUATION = ".,!?;:"


@dataclass(frozen=True)
class NounAttention:
    """One noun of a caption with the model's attention.

    Attributes:
        attention: over the grid's cells, from the top left; not negative, of any sum.
        boxes: those of the named objects, in pixels; none counts as a miss.
        height, width: those of the image, in the boxes' pixels.
    """

    attention: Float[np.ndarray, "rows columns"]
    boxes: Sequence[Box]
    height: int
    width: int


def score_pointing(nouns: Iterable[NounAttention], tolerance: float = 0.0) -> list[Score]:
    """Pointing accuracy, the attention inside the boxes, and that of uniform attention; all in
    percent.

    Args:
        tolerance: how far outside a box, in pixels, the centre of the highest cell may lie.

    Raises:
        DataError: there is no noun.
    """
    hits, inside, even = [], [], []
    for noun in nouns:
        shares = cover(noun)
        total = float(noun.attention.sum())
        hits.append(points(noun, tolerance))
        inside.append(float((noun.attention * shares).sum()) / total if total > 0 else 0.0)
        even.append(float(shares.mean()))
    if not hits:
        raise DataError(
            "there is no noun to score.",
            expected="at least one caption with a noun that has gold boxes",
        )
    signature = f"nouns:{len(hits)}|cell:highest|tolerance:{tolerance:g}px"
    return [
        Score("pointing accuracy", 100 * float(np.mean(hits)), signature=signature),
        Score("attention in the box", 100 * float(np.mean(inside)), signature=signature),
        Score("even attention in the box", 100 * float(np.mean(even)), signature=signature),
    ]


def points(noun: NounAttention, tolerance: float = 0.0) -> bool:
    """Whether the centre of the highest cell is in a box, or within `tolerance` pixels of it."""
    rows, columns = noun.attention.shape
    row, column = divmod(int(noun.attention.argmax()), columns)
    y, x = (row + 0.5) * noun.height / rows, (column + 0.5) * noun.width / columns
    return any(
        left - tolerance <= x < right + tolerance and top - tolerance <= y < bottom + tolerance
        for left, top, right, bottom in noun.boxes
    )


def cover(noun: NounAttention) -> Float[np.ndarray, "rows columns"]:
    """The share of every cell's area that lies in the boxes, 0 to 1."""
    inside: Bool[np.ndarray, "height width"] = np.zeros((noun.height, noun.width), dtype=bool)
    for left, top, right, bottom in noun.boxes:
        inside[max(0, top) : bottom, max(0, left) : right] = True
    rows, columns = noun.attention.shape
    # Cells may end between pixels: areas are differences of an interpolated running sum.
    total = np.zeros((noun.height + 1, noun.width + 1))
    total[1:, 1:] = inside.cumsum(0).cumsum(1)
    total = _between(total, np.linspace(0, noun.height, rows + 1))
    total = _between(total.T, np.linspace(0, noun.width, columns + 1)).T
    area = noun.height * noun.width / (rows * columns)
    shares: np.ndarray = np.diff(np.diff(total, axis=0), axis=1) / area
    return shares


def _between(values: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Rows of `values` at fractional indices, by linear interpolation."""
    low = np.minimum(at.astype(int), len(values) - 2)
    share = (at - low)[:, None]
    between: np.ndarray = values[low] * (1 - share) + values[low + 1] * share
    return between


class NamedBoxes(NamedTuple):
    """A noun of a caption by the index of its word, with the boxes of the objects that it names."""

    word: int
    boxes: tuple[Box, ...]


class Gold:
    """The nouns of captions.

    A reference caption has its own gold nouns. In any other caption, a word is a noun if it names
    objects in a reference caption, and it refers to all objects of that kind in the image; where
    the image has none of them, it counts as a miss.

    Args:
        boxes: as `read_boxes` returns them.
        captions: the same images with the captions that the boxes belong to.

    Raises:
        DataError: the boxes belong to other captions.
    """

    def __init__(self, boxes: dict[str, Boxes], captions: Iterable[Captioned]) -> None:
        self._boxes = boxes
        self._written: dict[str, dict[str, int]] = {}
        self._kinds: dict[str, str] = {}
        for picture in captions:
            written = {text: index for index, text in enumerate(picture.captions)}
            self._written[picture.file] = written
            known = self._of(picture.file)
            if len(known.nouns) != len(picture.captions):
                raise DataError(
                    f"the boxes of {picture.file} belong to other captions.",
                    expected=f"the nouns of {len(picture.captions)} captions",
                    got=f"those of {len(known.nouns)}",
                )
            for text, nouns in zip(picture.captions, known.nouns, strict=True):
                words = text.split(" ")
                for noun in nouns:
                    if noun.word not in range(len(words)):
                        raise DataError(
                            f"the boxes of {picture.file} name a word that its caption lacks.",
                            expected=f"an index below {len(words)}: {text!r}",
                            got=str(noun.word),
                        )
                    self._kinds[_bare(words[noun.word])] = known.kinds[noun.things[0]]

    def nouns(self, file: str, caption: str) -> list[NamedBoxes]:
        """The nouns of a caption of the image `file`, in order.

        Raises:
            DataError: there are no boxes for this image.
        """
        known = self._of(file)
        index = self._written.get(file, {}).get(caption)
        if index is not None:
            return [
                NamedBoxes(noun.word, tuple(known.boxes[thing] for thing in noun.things))
                for noun in known.nouns[index]
            ]
        named = []
        for index, word in enumerate(caption.split(" ")):
            kind = self._kinds.get(_bare(word))
            if kind is not None:
                boxes = zip(known.kinds, known.boxes, strict=True)
                named.append(
                    NamedBoxes(
                        index, tuple(box for kind_of_box, box in boxes if kind_of_box == kind)
                    )
                )
        return named

    def _of(self, file: str) -> Boxes:
        if file not in self._boxes:
            raise DataError(
                "there are no boxes for this image.",
                expected=f"one of {len(self._boxes):,} images",
                got=repr(file),
            )
        return self._boxes[file]


def _bare(word: str) -> str:
    return word.strip(WORD_PUNCTUATION).lower()
