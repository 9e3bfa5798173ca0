"""Streams of updates: planned by all processes, collated by the one that needs a micro-batch."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Generic, TypedDict, TypeVar

from jumok.errors import DataError

Micro = TypeVar("Micro")
Micro_co = TypeVar("Micro_co", covariant=True)


@dataclass(frozen=True)
class Planned(Generic[Micro_co]):
    """A micro-batch of which only the rows are known yet.

    Attributes:
        work: its cost relative to others, about.
        collate: makes it. Nothing depends on which others are made, or on their order.
    """

    work: int
    collate: Callable[[], Micro_co]


def collated(batch: "Micro | Planned[Micro]") -> Micro:
    """The micro-batch, planned or made already."""
    return batch.collate() if isinstance(batch, Planned) else batch


class PlannedUpdates(ABC, Generic[Micro]):
    """An endless iterator of updates, each a list of micro-batches."""

    def __iter__(self) -> Iterator[list[Micro]]:
        return self

    def __next__(self) -> list[Micro]:
        return [batch.collate() for batch in self.planned()]

    @abstractmethod
    def planned(self) -> list[Planned[Micro]]:
        """The next update."""


class UpdateCursor(TypedDict):
    """The position of a stream whose updates depend on their number alone; JSON."""

    plan: str
    update: int


class NumberedUpdates(PlannedUpdates[Micro]):
    """Updates that depend on their number alone, so that the cursor is that number.

    Args:
        plan: names the data, the batch sizes and the seed.
    """

    def __init__(self, plan: str) -> None:
        self._plan, self._update = plan, 0

    @property
    def cursor(self) -> UpdateCursor:
        return UpdateCursor(plan=self._plan, update=self._update)

    def restore(self, cursor: UpdateCursor) -> None:
        """Raises DataError for a cursor of other data, batch sizes or seed."""
        check_plan(cursor["plan"], self._plan)
        self._update = cursor["update"]


def check_plan(before: str, now: str) -> None:
    """Raises DataError if a cursor belongs to another stream."""
    if before != now:
        raise DataError(
            "the data has changed since training stopped.",
            expected=before,
            got=now,
            do="resume with the same data, tokenizer, filters, batch sizes and seed",
        )
