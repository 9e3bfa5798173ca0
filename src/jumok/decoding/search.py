"""A search for one sentence, and how several of them share the steps of a model."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

from jumok.computation import check_cancelled
from jumok.decoding.hypothesis import Hypothesis
from jumok.decoding.stepper import NextTokens, Reading, Stepper


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
    def found(self) -> list[Hypothesis]:
        """The hypotheses, best first.

        Raises:
            ModelError: the model gave no token a probability.
        """


def steps(searches: Sequence[tuple[int, SentenceSearch]], stepper: Stepper[Any]) -> Iterator[None]:
    """Runs searches, each with the number of its sentence, until all are over; stops after each
    step.

    Raises:
        What the check of `jumok.computation.cancel_scope` raises, before a step.
    """
    going = [(sentence, each, each.reading()) for sentence, each in searches]
    while going := [each for each in going if each[2]]:
        check_cancelled()
        step = stepper.step(
            [(sentence, one) for sentence, _, readings in going for one in readings]
        )
        first = 0
        for _, each, readings in going:
            each.advance(step.part(first, first + len(readings)))
            first += len(readings)
        yield
        going = [(sentence, each, each.reading()) for sentence, each, _ in going]


def run(searches: Sequence[tuple[int, SentenceSearch]], stepper: Stepper[Any]) -> None:
    """Runs searches until all are over; see `steps`."""
    for _ in steps(searches, stepper):
        pass
