"""Steps of a model, which searches share: hypotheses go in, and the next tokens of each come out.

A search does not know who computes: torch, the native engine or several models together
(`Ensemble`). It says with each row what it wants to know, so that a GPU copies the few best tokens
to the host and not a whole vocabulary.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from jumok.computation import check_cancelled
from jumok.decoding.hypothesis import Hypothesis
from jumok.errors import ModelError

Scores = npt.NDArray[np.float32]
"""Log-probabilities of the next token: (rows vocabulary), or (vocabulary)."""

Device = TypeVar("Device")
"""Log-probabilities where they are computed: (rows new vocabulary)."""

PARTITION_BLOCK = 64


@dataclass(frozen=True, eq=False)
class Reading:
    """Tokens that a model reads for one hypothesis of a sentence, and what is wanted after them.

    Attributes:
        tokens: usually one. The rows of a step have equally many.
        place: how many tokens of the hypothesis were read before these, START included.
        slot: where the model keeps what it makes of the tokens, for the steps that follow.
        ancestors: the slots of the tokens before these, int32; None: all are in `slot`.
        best: how many of the most probable next tokens are wanted.
        asked: tokens whose log-probabilities are wanted.
        whole: whether those of all tokens are wanted.
        without: a token that may not follow, whose probability the others share; None: there is
            none.
    """

    tokens: tuple[int, ...]
    place: int
    slot: int
    ancestors: npt.NDArray[np.int32] | None = None
    best: int = 0
    asked: tuple[int, ...] = ()
    whole: bool = False
    without: int | None = None


SentenceReadings = Sequence[tuple[int, Reading]]
"""The number of a sentence, and what is read for it."""


@dataclass(frozen=True, eq=False)
class NextTokens:
    """What may follow each row.

    Attributes:
        tokens: the most probable ones, best first; of equals the lower id first: (rows best).
        values: their log-probabilities; minus infinity where fewer tokens have one.
        asked: those of the tokens that were asked for: (rows asked).
        begun: those of the tokens that were read, but the first: (rows read-1); nothing if the
            stepper has the log-probabilities after the last alone.
        whole: those of all tokens, which may be overwritten; None: not wanted.
    """

    tokens: npt.NDArray[np.int64]
    values: Scores
    asked: Scores
    begun: Scores
    whole: Scores | None

    def part(self, first: int, last: int) -> NextTokens:
        at = slice(first, last)
        whole = None if self.whole is None else self.whole[at]
        return NextTokens(self.tokens[at], self.values[at], self.asked[at], self.begun[at], whole)


class Stepper(ABC, Generic[Device]):
    """A model that reads tokens of hypotheses; a step's rows are at one place."""

    vocabulary: int

    @abstractmethod
    def scores(self, rows: SentenceReadings) -> Device:
        """The log-probabilities after each token that is read, (rows new vocabulary).

        After the last one alone if the rows are never asked for the log-probability of a beginning.
        """

    @abstractmethod
    def reduced(self, scores: Device, readings: Sequence[Reading]) -> NextTokens:
        """What the readings want of these log-probabilities."""

    @abstractmethod
    def mean(self, members: Sequence[Device]) -> Device:
        """The logarithm of the mean probability over several models."""

    def step(self, rows: SentenceReadings) -> NextTokens:
        return self.reduced(self.scores(rows), [reading for _, reading in rows])


class Ensemble(Stepper[Device]):
    """Several models whose probability of a token is the mean of its members' probabilities.

        p(token) = (p_1(token) + ... + p_n(token)) / n

    Raises:
        ModelError: no members, or vocabularies of different sizes.
    """

    def __init__(self, members: Sequence[Stepper[Device]]) -> None:
        sizes = [member.vocabulary for member in members]
        if not sizes or len(set(sizes)) > 1:
            raise ModelError(
                "the members of an ensemble must have the same vocabulary.",
                expected="one vocabulary size",
                got=str(sizes),
                do="train the models with one shared tokenizer",
            )
        self.members, self.vocabulary = members, sizes[0]

    def scores(self, rows: SentenceReadings) -> Device:
        return self.mean([member.scores(rows) for member in self.members])

    def reduced(self, scores: Device, readings: Sequence[Reading]) -> NextTokens:
        return self.members[0].reduced(scores, readings)

    def mean(self, members: Sequence[Device]) -> Device:
        return self.members[0].mean(members)


class SentenceSearch(ABC):
    """The search for one sentence: it asks for what is to be read, and gets what may follow.

    Attributes:
        slots: the slots of all that it reads are less.
    """

    slots: int

    @abstractmethod
    def reading(self) -> Sequence[Reading]:
        """What has to be read next; nothing when the search is over."""

    @abstractmethod
    def advance(self, step: NextTokens) -> None:
        """One step."""

    @abstractmethod
    def hypotheses(self) -> list[Hypothesis]:
        """Best first.

        Raises:
            ModelError: the model gave no token a probability.
        """


def run_searches(
    searches: Sequence[Sequence[SentenceSearch]], stepper: Stepper[Any]
) -> list[list[Hypothesis]]:
    """Runs the searches of every sentence until all are over; the hypotheses of each sentence.

    Raises:
        ModelError: the model gave no token of a sentence a probability.
        What the check of `jumok.computation.cancel_scope` raises, before a step.
    """
    going = [
        (sentence, each, each.reading())
        for sentence, of_sentence in enumerate(searches)
        for each in of_sentence
    ]
    while going := [each for each in going if each[2]]:
        check_cancelled()
        step = stepper.step(
            [(sentence, one) for sentence, _, readings in going for one in readings]
        )
        first = 0
        for _, each, readings in going:
            each.advance(step.part(first, first + len(readings)))
            first += len(readings)
        going = [(sentence, each, each.reading()) for sentence, each, _ in going]
    return [
        [hypothesis for each in of_sentence for hypothesis in each.hypotheses()]
        for of_sentence in searches
    ]


def reduced(scores: npt.NDArray[np.float32], readings: Sequence[Reading]) -> NextTokens:
    """What the readings want of log-probabilities (rows new vocabulary) on the host."""
    last = scores[:, -1]
    _take_out(last, [one.without for one in readings])
    tokens, values = largest(last, max((one.best for one in readings), default=0))
    places, asked = asked_tokens(readings)
    more = scores.shape[1]
    read = np.array([one.tokens[1:more] for one in readings], np.int64).reshape(len(readings), -1)
    begun = np.take_along_axis(scores[:, :-1], read[..., None], axis=2)[..., 0]
    whole = last if any(one.whole for one in readings) else None
    return NextTokens(tokens, values, last[places, asked], begun, whole)


def joint_stepper(steppers: Sequence[Stepper[Device]]) -> Stepper[Device]:
    """One model by itself, or several as an ensemble."""
    return steppers[0] if len(steppers) == 1 else Ensemble(steppers)


def asked_tokens(
    readings: Sequence[Reading],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The rows (rows 1) and tokens (rows most) of all that is asked for, filled up with token 0."""
    most = max((len(one.asked) for one in readings), default=0)
    tokens = [(*one.asked, *[0] * (most - len(one.asked))) for one in readings]
    rows = np.arange(len(readings))[:, None]
    return rows, np.array(tokens, np.int64).reshape(len(readings), most)


def _take_out(scores: Scores, tokens: Sequence[int | None]) -> None:
    """Gives the probability of a token to the others of its row, in place."""
    rows = np.array([row for row, token in enumerate(tokens) if token is not None], np.int64)
    if not len(rows):
        return
    taken = [token for token in tokens if token is not None]
    lost = np.exp(scores[rows, taken].astype(np.float64))
    scores[rows, taken] = -np.inf
    small = lost < 0.5
    share = np.zeros(len(scores), np.float32)
    share[rows[small]] = np.log1p(-lost[small])
    with np.errstate(invalid="ignore"):  # a model may give no other token a probability
        for row in rows[~small]:  # here 1 - lost has few digits
            highest = scores[row].max()
            share[row] = highest + np.log(np.exp(scores[row] - highest).sum())
        scores -= share[:, None]


def largest(scores: Scores, count: int) -> tuple[npt.NDArray[np.int64], Scores]:
    """The `count` largest of each row, falling; of equals the one further left comes first.

    Args:
        scores: (rows size).

    Returns:
        Their places, and the scores themselves; NaN counts as minus infinity.
    """
    rows, size = scores.shape
    count, blocks = min(count, size), size // PARTITION_BLOCK
    if count == 0 or rows == 0:
        return np.zeros((rows, count), np.int64), np.zeros((rows, count), np.float32)
    if count < blocks:
        row, place = _largest_candidates(scores, count)
    else:
        row, place = np.nonzero(scores > -np.inf)
    values = scores[row, place]
    order = np.lexsort((place, -values, row))
    counts = np.bincount(row, minlength=rows)
    at = np.arange(count)
    chosen = (np.cumsum(counts) - counts)[:, None] + at
    there = at < counts[:, None]
    order = np.append(order, 0)[np.where(there, chosen, -1)]
    places = np.append(place, 0)[order]
    return places, np.where(there, np.append(values, np.float32(0))[order], np.float32(-np.inf))


def _largest_candidates(
    scores: Scores, count: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The rows and places of all scores that may be among the `count` largest of their row: the
    `count`-th largest of the blocks' maxima is at most the `count`-th largest score.
    """
    rows, whole = len(scores), scores.shape[1] // PARTITION_BLOCK * PARTITION_BLOCK
    blocks = scores[:, :whole].reshape(rows, -1, PARTITION_BLOCK)
    half = PARTITION_BLOCK // 2
    maxima = np.maximum(blocks[..., :half], blocks[..., half:]).max(axis=2)
    least = np.partition(maxima, -count, axis=1)[:, -count]
    of_block, block = np.nonzero(maxima >= least[:, None])
    chosen, place = np.nonzero(blocks[of_block, block] >= least[of_block, None])
    of_rest, rest = np.nonzero(scores[:, whole:] >= least[:, None])
    return (
        np.concatenate([of_block[chosen], of_rest]),
        np.concatenate([block[chosen] * PARTITION_BLOCK + place, whole + rest]),
    )
