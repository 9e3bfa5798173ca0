"""Head cards: what one head does, on average over a corpus, and the role that follows from it.

A role is a name by rule, not an explanation: it describes the weights over these sentences. The
rules, in the order in which they are tried, each with its paper:

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
"""

from dataclasses import asdict, dataclass
from typing import Literal

from jumok.attention.role import Part

Role = Literal[
    "previous", "next", "same", "first", "last", "diagonal", "aligned", "punctuation",
    "rare words", "broad", "no clear role",
]  # fmt: skip

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
    def role(self) -> Role:
        """Its role: the first rule at the top of this module that holds."""
        own, right = self.part != "cross", self.precision or 0.0
        rules: tuple[tuple[Role, bool], ...] = (
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
    def nearest(self) -> tuple[Role, float, float] | None:
        """The role whose rule it comes nearest to, its measure, and the threshold of the rule.

        The nearest is the measure that is the largest share of its threshold. None: it has a role,
        or all measures are below half of their thresholds.
        """
        if self.role != "no clear role":
            return None
        own = self.part != "cross"
        measures: list[tuple[Role, float, float]] = [
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
