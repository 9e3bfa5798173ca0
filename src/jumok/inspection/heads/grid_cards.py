"""Head cards of heads whose keys are an image's cells: queries are caption words, or the cells.

The measures of texts for order (one before, one after, first, last) and tokens (punctuation, rare
words) do not apply here. Instead the card gives the average weight of each cell; for cells as
queries the distance, in rows and columns; for words with gold boxes the pointing accuracy.

A role is a name by rule, the first of these that holds:

    points            words: the centre of the highest cell lies in a box of what the word names
                      for more than half of the nouns (the pointing game, Zhang et al. 2016)
    same              cells: more than half of the weight is on the cell itself
    shift             cells: the largest weight is at one and the same offset in 90 % of the cells
                      that have a cell there; only offsets that half of the cells have. Such a head
                      is one tap of a convolution (Cordonnier et al. 2020, theorem 1)
    near              cells: more than half of the weight is on the cell and its neighbours
    one place         more than half is on one cell of the grid, for all queries: a sink, as first
                      and last are in texts (Clark et al. 2019, section 3.2)
    broad             the entropy is more than 90 % of its maximum. Clark et al. require at most
                      0.1 on any word; in a grid, where an object has many cells, a head that
                      attends to all of one object would be called broad by that rule
    no clear role     none of these
"""

from dataclasses import asdict, dataclass
from typing import Literal, TypeAlias

from jumok.inspection.heads.cards import FURTHEST, MOST_MASS, MOSTLY_RIGHT, POSITIONAL, HeadCard

GridRole = Literal["points", "same", "shift", "near", "one place", "broad", "no clear role"]
Grid = tuple[int, int]
"""Rows and columns."""
Map = tuple[tuple[float, ...], ...]
"""A number for each cell, row by row."""

NEARLY_ALL = 0.9
"""A head whose entropy is more than this share of its maximum is broad."""

NO_ORDER = "cells have no sequential order"
NO_PIECES = "cells are not tokens of text"
NO_PLACE = "a word has no position in the image to measure a distance from"
NO_WORDS = "the model writes no words that could point at anything"
NO_BOXES = "no boxes of the things that the words name were given (boxes.jsonl)"


@dataclass(frozen=True)
class GridCard:
    """What one head over cells does, on average over all queries.

    Attributes:
        part: "cross": cross-attention from caption words; "image": self-attention of the cells.
        grid: rows and columns of the cells that are the keys.
        entropy: that of its weights, in nats.
        uniform_share: the entropy as a share of its maximum, log(cells): 0 for one cell, 1 for
            uniform weights.
        confidence: its largest weight.
        where: (rows columns), the average weight of each cell; sums to 1.
        importance: how much the loss changes with the head's gate, as a share of the length of
            its layer's vector of importances.
        raw_importance: the same in nats a token, or an image's label.
        same, near: for cells: the weight on the cell itself, and on it and its neighbours (8, or
            fewer at the edge).
        distance: for cells: the mean distance attended to, in cells: the distances between
            centres, weighted by the attention. (Dosovitskiy et al. 2021, appendix D.7)
        even_distance: the same for uniform weights.
        offsets: for cells: the offset of the largest weight from the cell itself, as shares of
            all queries: (2 m + 1, 2 n + 1), rows above, at and below the own one, columns left to
            right; the middle is the cell itself. At most 8 rows and columns away.
        beyond: the share of larger offsets; with `offsets` the sum is 1.
        residual_gate: for cells: the layer's output is multiplied by it.
        nouns: for words: how many have gold boxes; None, as the next four: no boxes were given.
        pointing: how often the centre of the highest cell lies in a box, as a share of the nouns.
        in_box, even_in_box: the share of a noun's weight in its boxes, and the share that uniform
            weights would have.
        reading: "writes" or "reads": the step at which it points better, of the one that writes
            the word and the next one, which reads it.
    """

    site: str
    part: Literal["cross", "image"]
    layer: int
    head: int
    grid: Grid
    entropy: float
    uniform_share: float
    confidence: float
    where: Map
    importance: float
    raw_importance: float
    same: float | None = None
    near: float | None = None
    distance: float | None = None
    even_distance: float | None = None
    offsets: Map | None = None
    beyond: float | None = None
    residual_gate: float | None = None
    nouns: int | None = None
    pointing: float | None = None
    in_box: float | None = None
    even_in_box: float | None = None
    reading: Literal["writes", "reads"] | None = None

    @property
    def role(self) -> GridRole:
        """Its role: the first rule at the top of this module that holds."""
        rules: tuple[tuple[GridRole, bool], ...] = (
            ("points", (self.pointing or 0.0) > MOSTLY_RIGHT),
            ("same", (self.same or 0.0) > MOST_MASS),
            ("shift", self._shifts()),
            ("near", (self.near or 0.0) > MOST_MASS),
            ("one place", max(map(max, self.where)) > MOST_MASS),
            ("broad", self.uniform_share > NEARLY_ALL),
        )
        return next((role for role, holds in rules if holds), "no clear role")

    @property
    def left_out(self) -> dict[str, str]:
        """The measures of other heads that this one lacks, and why."""
        reasons = {"first, last, previous, next": NO_ORDER, "punctuation, rarest": NO_PIECES}
        if self.part == "image":
            return reasons | {"pointing": NO_WORDS}
        reasons |= {"offsets, distance": NO_PLACE}
        return reasons if self.pointing is not None else reasons | {"pointing": NO_BOXES}

    def facts(self) -> dict[str, object]:
        """The measures as plain values, with those left out and why; counted from 1."""
        known = {name: value for name, value in asdict(self).items() if value is not None}
        return known | {
            "layer": self.layer + 1,
            "head": self.head + 1,
            "role": self.role,
            "left_out": self.left_out,
        }

    def _shifts(self) -> bool:
        """Whether one offset other than 0 holds in 90 % of the cells that have a cell there."""
        if self.offsets is None:
            return False
        rows, columns = self.grid
        middle = (len(self.offsets) // 2, len(self.offsets[0]) // 2)
        for y, row in enumerate(self.offsets):
            for x, share in enumerate(row):
                down, across = abs(y - middle[0]), abs(x - middle[1])
                there = (rows - down) * (columns - across) / (rows * columns)
                if (down or across) and there >= 0.5 and share >= POSITIONAL * there:
                    return True
        return False


AnyHeadCard: TypeAlias = HeadCard | GridCard
"""The card of one head, over texts or over cells."""


def reach(grid: Grid) -> Grid:
    """The largest offsets in rows and columns that are counted separately."""
    return min(FURTHEST, grid[0] - 1), min(FURTHEST, grid[1] - 1)
