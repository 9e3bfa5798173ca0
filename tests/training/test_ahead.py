"""Batches made ahead: the same ones, and a cursor that does not run ahead with them."""

from dataclasses import dataclass
from typing import Any

import pytest
import torch

from jumok.data.pairs.batches import collate
from jumok.errors import DataError
from jumok.training.devices.ahead import Ahead, fed
from tests.training.tiny import pairs


@dataclass
class Counted:
    """Update n has a micro-batch of n + 1 pairs."""

    update: int = 0
    epoch_steps = 7.0

    def __next__(self) -> list[Any]:
        if self.update == 5:
            raise DataError("the store ends here.")
        self.update += 1
        return [collate(*pairs(self.update))]

    @property
    def cursor(self) -> dict[str, object]:
        return {"update": self.update}

    def restore(self, cursor: dict[str, int]) -> None:
        self.update = cursor["update"]


def ahead(source: Counted) -> Ahead:
    return Ahead(source, lambda batch: batch)


def size(updates: Ahead) -> int:
    [batch] = next(updates)
    return len(batch.source)


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
    next(updates)
    updates.restore({"update": 3})
    assert (updates.cursor, updates.epoch_steps) == ({"update": 3}, 7.0)
    assert size(updates) == 4


def test_an_error_arrives_with_the_update_that_it_is_of():
    updates = ahead(Counted(update=4))
    assert size(updates) == 5
    with pytest.raises(DataError, match="ends here"):
        next(updates)


def test_only_other_devices_than_processors_are_fed_ahead():
    source = Counted()
    assert fed(source, torch.device("cpu")) is source
    [batch] = next(fed(source, torch.device("meta")))
    assert "places" in vars(batch)  # computed where its numbers are
