"""Batches that are made while a GPU still computes the step before."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any

import torch

from jumok.data.pairs.batches import changed
from jumok.shapes import Tensor
from jumok.training.task import MicroBatch, UpdateSource

Made = tuple[Sequence[MicroBatch], Mapping[str, object]]


class Ahead:
    """The same updates, each made in a thread while the one before is used.

    Its cursor is the position after the update that was last given, not the one made since.

    Args:
        prepare: what else is done with a micro-batch in that thread.
    """

    def __init__(self, source: UpdateSource, prepare: Callable[[MicroBatch], MicroBatch]) -> None:
        self._source, self._prepare = source, prepare
        self._thread = ThreadPoolExecutor(1)
        self._next: Future[Made] | None = None
        self._cursor = source.cursor

    def __next__(self) -> Sequence[MicroBatch]:
        made = self._next or self._thread.submit(self._make)
        batches, self._cursor = made.result()
        self._next = self._thread.submit(self._make)
        return batches

    @property
    def cursor(self) -> Mapping[str, object]:
        """The position after the last update."""
        return self._cursor

    @property
    def epoch_steps(self) -> float:
        """Updates of one pass over the data, about."""
        return self._source.epoch_steps

    def restore(self, cursor: Any) -> None:
        """Goes on from this position.

        Raises:
            DataError: the cursor belongs to other data.
        """
        if self._next is not None:
            self._next.exception()  # waits: the thread must not use the source meanwhile
            self._next = None
        self._source.restore(cursor)
        self._cursor = self._source.cursor

    def _make(self) -> Made:
        batches = [self._prepare(batch) for batch in next(self._source)]
        return batches, self._source.cursor


def fed(source: UpdateSource, device: torch.device) -> UpdateSource:
    """The updates in the way that keeps this device busy.

    A GPU copies from pinned memory while it computes. The cores of a CPU are busy with the step.
    """
    if device.type == "cpu":
        return source
    return Ahead(source, partial(_pinned if device.type == "cuda" else _computed, device))


def _pinned(device: torch.device, batch: MicroBatch) -> MicroBatch:
    with torch.cuda.device(device):  # a thread of its own would begin with the first GPU
        return changed(batch, Tensor.pin_memory)


def _computed(_: torch.device, batch: MicroBatch) -> MicroBatch:
    return changed(batch, lambda tensor: tensor)
