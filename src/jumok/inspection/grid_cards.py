"""Head cards of heads that look at a picture's cells: a captioner's words, or the cells themselves.

What a card of texts says about order (one before, one after, first, last) and about pieces
(punctuation, rare words) has no meaning here, and is not said. Instead: where in the picture a head
looks on average; of cells that look at cells how far away, in rows and columns; of words that have
gold boxes how often they point at what they name.

A role is a name by rule, the first of these that holds:

    points            of words: the middle of the highest cell lies in a box of what the word names
                      for more than half of the nouns (the pointing game, Zhang et al. 2016)
    same              of cells: more than half of the weight stays where it is
    shift             of cells: the largest weight stands at one and the same offset in 90 % of the
                      cells that have such a place; of offsets that half of the cells have. A head
                      like this is one tap of a convolution (Cordonnier et al. 2020, theorem 1)
    near              of cells: more than half of the weight goes to the cell and its neighbours
    one place         more than half goes to one cell of the grid, whoever looks: a sink, as first
                      and last are in texts (Clark et al. 2019, section 3.2)
    broad             the entropy is more than 90 % of the most it could be. Clark et al. ask for
                      0.1 at most on any word; in a grid, where a thing has many cells, a head
                      that looks at all of one thing would be called broad by that
    no clear role     none of these
"""

from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeAlias

from jumok.inspection.cards import FURTHEST, MOST_MASS, MOSTLY_RIGHT, POSITIONAL, HeadCard

GridRole = Literal["points", "same", "shift", "near", "one place", "broad", "no clear role"]
Grid = tuple[int, int]
"""Rows and columns."""
Map = tuple[tuple[float, ...], ...]
"""A number for each row and column."""

NEARLY_ALL = 0.9
"""A head whose entropy is more than this share of the most it could be is broad."""

NO_ORDER = "cells have no sequential order"
NO_PIECES = "cells are not tokens of text"
NO_PLACE = "a word has no position in the image to measure a distance from"
NO_WORDS = "the model writes no words that could point at anything"
NO_BOXES = "no boxes of the things that the words name were given (boxes.jsonl)"


@dataclass(frozen=True)
class GridCard:
    """What one head does that looks at cells, on average over all that look.

    Attributes:
        site: its module's path in the model.
        part: "cross": the words of a caption look; "image": the cells look at one another.
        layer, head: from 0.
        grid: rows and columns of the cells that are looked at.
        entropy: of its weights, in nats.
        uniform_share: the entropy as a share of the most it could be, log(cells): 0 looks at one
            cell, 1 at all alike.
        confidence: its largest weight.
        where: (rows columns), what each cell gets; sums to 1.
        importance: how much the loss changes with the head's gate, as a share of the length of
            its layer's importances.
        raw_importance: the same in nats: a piece, or a picture's label.
        same, near: of cells: what stays where it is, and what goes there or to the neighbours
            (8, or fewer at the rim).
        distance: of cells: how far away what is looked at lies, in cells: the mean of the
            distances between middles, each by its weight. (Dosovitskiy et al. 2021, appendix D.7)
        even_distance: the same for a head that looked at all cells alike.
        offsets: of cells: how far the largest weight stands from the own cell, as shares of all
            that look: (2 m + 1, 2 n + 1), rows before, at and after the own one down, columns
            across; the middle is the own cell. At most 8 rows and columns away.
        beyond: the share of those further away; with `offsets` the sum is 1.
        residual_gate: of cells: what all that the layer found is multiplied by.
        nouns: of words: how many have gold boxes; None, as the next four: no boxes were given.
        pointing: how often the middle of the highest cell lies in a box, as a share of the nouns.
        in_box, even_in_box: what the boxes get of a noun's weight, and what they would get of
            even weight.
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
        """Its role by the rules at the top of this module, the first that holds."""
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
        """What cards say of other heads and not of this one, and why."""
        told = {"first, last, previous, next": NO_ORDER, "punctuation, rarest": NO_PIECES}
        if self.part == "image":
            return told | {"pointing": NO_WORDS}
        told |= {"offsets, distance": NO_PLACE}
        return told if self.pointing is not None else told | {"pointing": NO_BOXES}

    def facts(self) -> dict[str, Any]:
        """What was measured as plain values, with what was left out and why; counted from 1."""
        known = {name: value for name, value in asdict(self).items() if value is not None}
        return known | {
            "layer": self.layer + 1,
            "head": self.head + 1,
            "role": self.role,
            "left_out": self.left_out,
        }

    def _shifts(self) -> bool:
        """Whether one offset, not 0, holds in 90 % of the cells that have such a place."""
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
"""What one head does, whatever it looks at."""


def reach(grid: Grid) -> Grid:
    """How many rows and columns away offsets are told apart."""
    return min(FURTHEST, grid[0] - 1), min(FURTHEST, grid[1] - 1)
