"""Batches made ahead: the same ones, and a cursor that does not run ahead with them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pytest
import torch

from jumok.data.pairs.batches import collate
from jumok.data.planned import Planned
from jumok.errors import DataError
from jumok.training.devices.prefetch import Prefetcher, prefetch
from tests.training.tiny import pairs


@dataclass
class Counted:
    """Update n has a micro-batch of n + 1 pairs."""

    update: int = 0
    epoch_steps = 7.0
    collated: list[tuple[int, int]] = field(default_factory=list)

    def __next__(self) -> list[Any]:
        return [each.collate() for each in self.planned()]

    def planned(self) -> list[Planned[Any]]:
        if self.update == 5:
            raise DataError("the store ends here.")
        self.update += 1
        return [Planned(1, partial(self.made, self.update, n)) for n in range(2)]

    def made(self, update: int, number: int) -> Any:
        self.collated.append((update, number))
        return collate(*pairs(update))

    @property
    def cursor(self) -> dict[str, object]:
        return {"update": self.update}

    def restore(self, cursor: dict[str, int]) -> None:
        self.update = cursor["update"]


def ahead(source: Counted) -> Prefetcher:
    return Prefetcher(source, second, lambda batch: batch)


def second(batches: Sequence[Planned[Any]]) -> list[int]:
    """Of a process that uses the second micro-batch alone."""
    assert len(batches) == 2
    return [1]


def size(updates: Prefetcher) -> int:
    return len(updates.planned()[1].collate().source)


def test_only_what_this_process_uses_is_made():
    source = Counted()
    updates = ahead(source)
    assert [size(updates), size(updates)] == [1, 2]
    updates.restore(updates.cursor)  # waits for what is made ahead
    assert source.collated == [(1, 1), (2, 1), (3, 1)]


def test_the_cursor_is_that_of_the_update_that_was_given():
    updates = ahead(Counted())
    assert updates.cursor == {"update": 0}
    assert [size(updates) for _ in range(3)] == [1, 2, 3]
    assert updates.cursor == {"update": 3}
    other = ahead(Counted())
    other.restore(updates.cursor)
    assert (size(other), size(updates)) == (4, 4)


def test_restoring_drops_what_was_made_ahead():
    updates = ahead(Counted())
    updates.planned()
    updates.restore({"update": 3})
    assert (updates.cursor, updates.epoch_steps) == ({"update": 3}, 7.0)
    assert size(updates) == 4


def test_an_error_arrives_with_the_update_that_it_is_of():
    updates = ahead(Counted(update=4))
    assert size(updates) == 5
    with pytest.raises(DataError, match="ends here"):
        updates.planned()


def test_only_other_devices_than_processors_are_fed_ahead():
    source = Counted()
    assert prefetch(source, torch.device("cpu"), second) is source
    batch = prefetch(source, torch.device("meta"), second).planned()[1].collate()
    assert "places" in vars(batch)  # computed where its numbers are
