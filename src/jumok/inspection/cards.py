"""Head cards: what one head does, on average over a corpus, and the role that this gives it.

A role is a name by rule, not an explanation: it says what the weights did over these sentences.
The rules, in the order in which they are asked, each with the paper it is from:

    previous, next    the largest weight stands one before (after) in 90 % of the positions that
                      have such a place (Voita et al. 2019, section 5.1), or the place gets more
                      than half of the weight (Clark et al. 2019, section 3.1); never of a head over
                      the source: its positions are of another sentence
    same              more than half of the weight stays where it is
    first, last       more than half goes to the first (START of a decoder), or to the last position
                      that can be seen (END of a source): a sink, where heads look that have
                      nothing to say (Clark et al. 2019, section 3.2)
    diagonal          over the source: the largest weight stands at the position's own number in
                      90 % of the positions
    aligned           over the source: the largest weight is 0.8 on average (Voita et al. 2019 find
                      it of heads with a clear role), or, where people's links are known, more
                      than half of the head's are among them; the papers have no word for it
    punctuation       more than half goes to pieces of punctuation (Clark et al. 2019, section 3.2)
    rare words        the largest weight stands on the rarest piece of the sentence in more than
                      half of the positions that see five or more pieces (Voita et al. 2019,
                      section 5.3, found a head with 66 %)
    broad             no piece gets more than 0.1 on average (Clark et al. 2019, section 3.1)
    no clear role     none of these
"""

from dataclasses import asdict, dataclass
from typing import Any, Literal

from jumok.inspection.trace import Part

Role = Literal[
    "previous", "next", "same", "first", "last", "diagonal", "aligned", "punctuation",
    "rare words", "broad", "no clear role",
]  # fmt: skip

FURTHEST = 8
OFFSETS = tuple(range(-FURTHEST, FURTHEST + 1))

POSITIONAL = 0.9
"""A head whose largest weight is at one offset so often is positional."""

MOST_MASS = 0.5
"""A head that gives more than this, on average, to one place is named after the place."""

BROAD = 0.1
"""A head that gives no piece more than this is broad."""

CONFIDENT = 0.8
"""A head whose largest weight is, on average, more than this is confident."""

NEAR = 0.5
"""A head without a role that has less than this share of every bound is near to none."""

MOSTLY_RIGHT = 0.5
"""A head whose links are right more often than this is an aligner."""


@dataclass(frozen=True)
class HeadCard:
    """What one head does, on average over all positions that look.

    Attributes:
        site: its module's path in the model.
        layer, head: from 0.
        entropy: of its weights, in nats.
        uniform_share: the entropy as a share of the most it could be: 0 looks at one place, 1 at
            all alike.
        confidence: its largest weight, END left out on both sides.
        confidence_with_end: its largest weight.
        first, last, previous, same, next: what it gives to the first position, the last that it
            can see (END in a source), the one before, at and after its own number; the mean
            over those that have such a position, 0 where none has.
        start, end, punctuation: what it gives to START, to END and to pieces of punctuation.
        rarest: how often its largest weight is on the rarest piece in sight, as a share of the
            positions that see five pieces or more.
        most_previous, most_same, most_next: how often its largest weight is one before, at or one
            after its own number, as a share of the positions that have such a place.
        offsets: how far its largest weight is from its own number, as shares of all positions
            that sum to 1: further before than 8, -8 to 8, further after than 8.
        importance: how much the loss changes with the head's gate (`Importance`), as a share of
            the length of its layer's importances.
        raw_importance: the same in nats a piece.
        precision, error_rate: of the word alignment that its largest weights make, where links by
            people were given: 0 to 1. None: they were not, or it does not look at the source.
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
        """Its role by the rules at the top of this module, the first that holds."""
        own, right = self.part != "cross", self.precision or 0.0
        rules: tuple[tuple[Role, bool], ...] = (
            ("previous", own and (self.most_previous >= POSITIONAL or self.previous > MOST_MASS)),
            ("next", own and (self.most_next >= POSITIONAL or self.next > MOST_MASS)),
            # Asked before "last": a position of the decoder sees itself as the last.
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
        """The role whose rule it comes nearest to, its measure, and what the rule asks for.

        Nearest is the measure that is the largest share of its bound. None: it has a role, or is
        not even half way to one.
        """
        if self.role != "no clear role":
            return None
        own = self.part != "cross"
        measures: list[tuple[Role, float, float]] = [
            ("first", self.first, MOST_MASS),
            ("last", self.last, MOST_MASS),
            ("punctuation", self.punctuation, MOST_MASS),
            ("rare words", self.rarest, MOST_MASS),
            ("broad", BROAD, self.confidence_with_end),  # the only bound from above
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

    def facts(self) -> dict[str, Any]:
        """Everything as plain values; layers and heads counted from 1, as people see them."""
        told = {"layer": self.layer + 1, "head": self.head + 1, "role": self.role}
        return asdict(self) | told | {"nearest": None if self.nearest is None else [*self.nearest]}
