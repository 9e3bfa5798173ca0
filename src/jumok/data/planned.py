"""Micro-batches that are planned by all processes, and collated by the one that uses them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

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
    """The micro-batch itself."""
    return batch.collate() if isinstance(batch, Planned) else batch
