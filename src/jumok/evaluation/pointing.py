"""Pointing accuracy: does a word look where the thing is that it names?

For every noun of a caption there is a map of attention over the picture's grid, and gold boxes.
The noun *points* rightly if the middle of its highest cell lies in one of the boxes. The share of
its attention inside the boxes says how sharply; attention spread evenly would have put there the
boxes' share of the picture, which is given beside it.

Source: the pointing game of Zhang et al. 2016, "Top-down Neural Attention by Excitation Backprop",
section 4.2, which allows 15 pixels beside the box; here what is allowed is said in the signature.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from jumok.bundle.card import Score
from jumok.data.boxes import Box, Boxes
from jumok.data.captions import Captioned
from jumok.errors import DataError

PUNCTUATION = ".,!?;:"


@dataclass(frozen=True)
class NounAttention:
    """One noun of a caption, as a model looked while it wrote it.

    Attributes:
        attention: over the grid's cells, from the top left; not negative, of any sum.
        boxes: where the named things are, in pixels; none where there is no such thing, which is
            never pointed at rightly.
        height, width: of the picture that the grid lies over, in the boxes' pixels.
    """

    attention: Float[np.ndarray, "rows columns"]
    boxes: Sequence[Box]
    height: int
    width: int


def score_pointing(looks: Iterable[NounAttention], tolerance: float = 0.0) -> list[Score]:
    """Pointing accuracy, the attention inside the boxes, and how much even attention would have
    there; all in percent of the nouns or of their attention.

    Args:
        tolerance: how far outside a box, in pixels, the middle of the highest cell may lie. A
            grid whose cells are larger than the things needs half a cell, or a cell that is
            wholly on the thing may count as a miss.

    Raises:
        DataError: there is no noun.
    """
    hits, inside, even = [], [], []
    for look in looks:
        shares = cover(look)
        total = float(look.attention.sum())
        hits.append(points(look, tolerance))
        inside.append(float((look.attention * shares).sum()) / total if total > 0 else 0.0)
        even.append(float(shares.mean()))
    if not hits:
        raise DataError(
            "There is no noun to score.",
            expected="at least one caption with a noun that has gold boxes",
        )
    signature = f"nouns:{len(hits)}|cell:highest|tolerance:{tolerance:g}px"
    return [
        Score("pointing accuracy", 100 * float(np.mean(hits)), signature=signature),
        Score("attention in the box", 100 * float(np.mean(inside)), signature=signature),
        Score("even attention in the box", 100 * float(np.mean(even)), signature=signature),
    ]


def points(look: NounAttention, tolerance: float = 0.0) -> bool:
    """Whether the middle of the highest cell lies in a box, or `tolerance` pixels beside it."""
    rows, columns = look.attention.shape
    row, column = divmod(int(look.attention.argmax()), columns)
    y, x = (row + 0.5) * look.height / rows, (column + 0.5) * look.width / columns
    return any(
        left - tolerance <= x < right + tolerance and top - tolerance <= y < bottom + tolerance
        for left, top, right, bottom in look.boxes
    )


def cover(look: NounAttention) -> Float[np.ndarray, "rows columns"]:
    """The share of every cell that lies in one of the boxes, 0 to 1."""
    inside: Bool[np.ndarray, "height width"] = np.zeros((look.height, look.width), dtype=bool)
    for left, top, right, bottom in look.boxes:
        inside[max(0, top) : bottom, max(0, left) : right] = True
    rows, columns = look.attention.shape
    # Cells may end between pixels: areas are differences of a running sum, read in between.
    total = np.zeros((look.height + 1, look.width + 1))
    total[1:, 1:] = inside.cumsum(0).cumsum(1)
    total = _between(total, np.linspace(0, look.height, rows + 1))
    total = _between(total.T, np.linspace(0, look.width, columns + 1)).T
    area = look.height * look.width / (rows * columns)
    shares: np.ndarray = np.diff(np.diff(total, axis=0), axis=1) / area
    return shares


def _between(values: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Rows of `values` at fractional indices, on straight lines between whole ones."""
    low = np.minimum(at.astype(int), len(values) - 2)
    share = (at - low)[:, None]
    between: np.ndarray = values[low] * (1 - share) + values[low + 1] * share
    return between


class NamedBoxes(NamedTuple):
    """A noun of a caption by the index of its word, and where the things are that it names."""

    word: int
    boxes: tuple[Box, ...]


class Gold:
    """The nouns of captions, of reference captions and of those that a model wrote.

    A reference caption of the same picture has its own gold nouns. In any other, a word
    is a noun if it names things in a reference caption, and means all things of that kind in the
    picture; where the picture has none of them it means nothing, and points wrongly.

    Args:
        boxes: as `read_boxes` gives them.
        captions: the same pictures with the captions that the boxes are about.

    Raises:
        DataError: the boxes are of other captions.
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
                    f"The boxes of {picture.file} are of other captions.",
                    expected=f"the nouns of {len(picture.captions)} captions",
                    got=f"those of {len(known.nouns)}",
                )
            for text, nouns in zip(picture.captions, known.nouns, strict=True):
                words = text.split(" ")
                for noun in nouns:
                    if noun.word not in range(len(words)):
                        raise DataError(
                            f"The boxes of {picture.file} name a word that its caption lacks.",
                            expected=f"an index below {len(words)}: {text!r}",
                            got=str(noun.word),
                        )
                    self._kinds[_bare(words[noun.word])] = known.kinds[noun.things[0]]

    def nouns(self, file: str, caption: str) -> list[NamedBoxes]:
        """The nouns of a caption of the picture `file`, in order.

        Raises:
            DataError: there are no boxes for this picture.
        """
        known = self._of(file)
        index = self._written.get(file, {}).get(caption)
        if index is not None:
            return [
                NamedBoxes(noun.word, tuple(known.boxes[thing] for thing in noun.things))
                for noun in known.nouns[index]
            ]
        found = []
        for index, word in enumerate(caption.split(" ")):
            kind = self._kinds.get(_bare(word))
            if kind is not None:
                boxes = zip(known.kinds, known.boxes, strict=True)
                found.append(NamedBoxes(index, tuple(box for each, box in boxes if each == kind)))
        return found

    def _of(self, file: str) -> Boxes:
        if file not in self._boxes:
            raise DataError(
                "There are no boxes for this picture.",
                expected=f"one of {len(self._boxes):,} pictures",
                got=repr(file),
            )
        return self._boxes[file]


def _bare(word: str) -> str:
    return word.strip(PUNCTUATION).lower()
