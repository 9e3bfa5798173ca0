"""A search for one sentence, and how several of them share the steps of a model."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from jumok.decoding.hypothesis import Hypothesis
from jumok.halting import heed

Scores = npt.NDArray[np.float32]
"""The log-probabilities of the next token: (rows vocabulary), or (vocabulary)"""


@dataclass(frozen=True, eq=False)
class Reading:
    """A token that a model reads for one hypothesis of a sentence.

    Attributes:
        place: how many tokens of the hypothesis were read before it, START included.
        slot: where the model keeps what it makes of the token, for the steps that follow.
        ancestors: the slots of the tokens before it, int32; None: all are in `slot`.
    """

    token: int
    place: int
    slot: int
    ancestors: npt.NDArray[np.int32] | None = None


ReadStep = Callable[[Sequence[tuple[int, Reading]]], Scores]
"""From (number of a sentence, what is read for it) to the log-probabilities after each."""


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
    def advance(self, scores: Scores) -> None:
        """One step.

        Args:
            scores: the model's after each `reading`, (rows vocabulary), which may be overwritten.
        """

    @abstractmethod
    def found(self) -> list[Hypothesis]:
        """The hypotheses, best first.

        Raises:
            ModelError: the model gave no token a probability.
        """


def run(searches: Sequence[tuple[int, SentenceSearch]], read: ReadStep) -> None:
    """Runs searches, each with the number of its sentence, until all are over.

    Raises:
        What the check of `jumok.halting.halted_by` raises, before a step.
    """
    going = [(sentence, each, each.reading()) for sentence, each in searches]
    while going := [each for each in going if each[2]]:
        heed()
        scores = read([(sentence, one) for sentence, _, readings in going for one in readings])
        first = 0
        for _, each, readings in going:
            each.advance(scores[first : first + len(readings)])
            first += len(readings)
        going = [(sentence, each, each.reading()) for sentence, each, _ in going]
