"""Head cards: what one head does, on average over a corpus, and the role that follows from it.

A role is a name by rule, not an explanation: it describes the weights over these inputs. The rules
for texts, in the order in which they are tried, each with its paper:

    previous, next    the largest weight is on the position before (after) in 90 % of the positions
                      that have one (Voita et al. 2019, section 5.1), or that position gets more
                      than half of the weight (Clark et al. 2019, section 3.1); never for
                      cross-attention, whose keys are of another sentence
    same              more than half of the weight is on the position itself
    first, last       more than half is on the first permitted position (START in a decoder), or on
                      the last (END of a source): a sink for heads without a function in the given
                      input (Clark et al. 2019, section 3.2)
    diagonal          cross-attention: the largest weight is at the query's own position number in
                      90 % of the positions
    aligned           cross-attention: the largest weight is 0.8 on average (Voita et al. 2019 find
                      that in heads with a clear role), or, where gold alignments are given, more
                      than half of the head's links are in them; the papers have no name for it
    punctuation       more than half is on punctuation tokens (Clark et al. 2019, section 3.2)
    rare words        the largest weight is on the rarest token of the sentence in more than half
                      of the positions with at least five permitted tokens (Voita et al. 2019,
                      section 5.3, found a head with 66 %)
    broad             no token gets more than 0.1 on average (Clark et al. 2019, section 3.1)
    no clear role     none of these

Where the keys are an image's cells, and the queries caption words or the cells, the measures of
order and of tokens do not apply. The first of these rules that holds:

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

from jumok.attention.role import Part

HeadRole = Literal[
    "previous", "next", "same", "first", "last", "diagonal", "aligned", "punctuation",
    "rare words", "broad", "no clear role",
]  # fmt: skip

GridRole = Literal["points", "same", "shift", "near", "one place", "broad", "no clear role"]
Grid = tuple[int, int]
"""Rows and columns."""
CellMap = tuple[tuple[float, ...], ...]
"""A number for each cell, row by row."""

FURTHEST = 8
OFFSETS = tuple(range(-FURTHEST, FURTHEST + 1))

POSITIONAL = 0.9
"""A head whose largest weight is at one offset in at least this share is positional."""

MOST_MASS = 0.5
"""A head with more than this weight, on average, on one position is named after the position."""

BROAD = 0.1
"""A head that gives no token more than this is broad."""

CONFIDENT = 0.8
"""A head whose largest weight is, on average, more than this is confident."""

NEAR = 0.5
"""A head without a role that reaches less than this share of every threshold is near none."""

MOSTLY_RIGHT = 0.5
"""A head with more than this precision of links is an aligner."""

NEARLY_ALL = 0.9
"""A head whose entropy is more than this share of its maximum is broad."""

NO_ORDER = "cells have no sequential order"
NO_PIECES = "cells are not tokens of text"
NO_PLACE = "a word has no position in the image to measure a distance from"
NO_WORDS = "the model writes no words that could point at anything"
NO_BOXES = "no boxes of the things that the words name were given (boxes.jsonl)"


@dataclass(frozen=True)
class HeadCard:
    """What one head does, on average over all queries.

    Attributes:
        entropy: that of its weights, in nats.
        uniform_share: the entropy as a share of its maximum: 0 for one position, 1 for uniform
            weights.
        confidence: its largest weight, END left out on both sides.
        confidence_with_end: its largest weight.
        first, last, previous, same, next: the weight on the first position, on the last that is
            permitted (END in a source), and on those before, at and after the query's own number;
            the mean over the queries that have such a position, 0 where none has.
        start, end, punctuation: the weight on START, on END and on punctuation tokens.
        rarest: how often its largest weight is on the rarest permitted token, as a share of the
            positions with at least five permitted tokens.
        most_previous, most_same, most_next: how often its largest weight is one before, at or one
            after the query's own number, as a share of the queries that have such a position.
        offsets: the offset of its largest weight from the query's own number, as shares of all
            queries that sum to 1: more than 8 before, -8 to 8, more than 8 after.
        importance: how much the loss changes with the head's gate (`Importance`), as a share of
            the length of its layer's vector of importances.
        raw_importance: the same in nats a token.
        precision, error_rate: those of the word alignment by its largest weights against gold
            alignments: 0 to 1. None: no gold was given, or the head is not cross-attention.
    """

    site: str
    part: Part
    layer: int
    head: int
    entropy: float
    uniform_share: float
    confidence: float
    confidence_with_end: float
    first: float
    last: float
    previous: float
    same: float
    next: float
    start: float
    end: float
    punctuation: float
    rarest: float
    most_previous: float
    most_same: float
    most_next: float
    offsets: tuple[float, ...]
    importance: float
    raw_importance: float
    precision: float | None = None
    error_rate: float | None = None

    @property
    def role(self) -> HeadRole:
        """Its role: the first rule at the top of this module that holds."""
        own, right = self.part != "cross", self.precision or 0.0
        rules: tuple[tuple[HeadRole, bool], ...] = (
            ("previous", own and (self.most_previous >= POSITIONAL or self.previous > MOST_MASS)),
            ("next", own and (self.most_next >= POSITIONAL or self.next > MOST_MASS)),
            # Tried before "last": the last permitted position in a decoder is the query's own.
            ("same", own and self.same > MOST_MASS),
            ("first", self.first > MOST_MASS),
            ("last", self.last > MOST_MASS),
            ("diagonal", not own and self.most_same >= POSITIONAL),
            ("aligned", not own and (self.confidence > CONFIDENT or right > MOSTLY_RIGHT)),
            ("punctuation", self.punctuation > MOST_MASS),
            ("rare words", self.rarest > MOST_MASS),
            ("broad", self.confidence_with_end <= BROAD),
        )
        return next((role for role, holds in rules if holds), "no clear role")

    @property
    def nearest(self) -> tuple[HeadRole, float, float] | None:
        """The role whose rule it comes nearest to, its measure, and the threshold of the rule.

        The nearest is the measure that is the largest share of its threshold. None: it has a role,
        or all measures are below half of their thresholds.
        """
        if self.role != "no clear role":
            return None
        own = self.part != "cross"
        measures: list[tuple[HeadRole, float, float]] = [
            ("first", self.first, MOST_MASS),
            ("last", self.last, MOST_MASS),
            ("punctuation", self.punctuation, MOST_MASS),
            ("rare words", self.rarest, MOST_MASS),
            ("broad", BROAD, self.confidence_with_end),  # the only upper bound
        ]
        if own:
            measures += [
                ("previous", self.most_previous, POSITIONAL),
                ("previous", self.previous, MOST_MASS),
                ("next", self.most_next, POSITIONAL),
                ("next", self.next, MOST_MASS),
                ("same", self.same, MOST_MASS),
            ]
        else:
            measures += [
                ("diagonal", self.most_same, POSITIONAL),
                ("aligned", self.confidence, CONFIDENT),
                ("aligned", self.precision or 0.0, MOSTLY_RIGHT),
            ]
        role, measure, bound = max(measures, key=lambda each: each[1] / each[2])
        if measure < NEAR * bound:
            return None
        return (role, bound, measure) if role == "broad" else (role, measure, bound)

    def facts(self) -> dict[str, object]:
        """The fields as plain values; layers and heads counted from 1, as they are shown."""
        shown = {"layer": self.layer + 1, "head": self.head + 1, "role": self.role}
        return asdict(self) | shown | {"nearest": None if self.nearest is None else [*self.nearest]}


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
    where: CellMap
    importance: float
    raw_importance: float
    same: float | None = None
    near: float | None = None
    distance: float | None = None
    even_distance: float | None = None
    offsets: CellMap | None = None
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
