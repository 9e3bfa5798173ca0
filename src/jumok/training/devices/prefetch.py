"""Batches that are made while a GPU still computes the step before."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any

import torch

from jumok.data.pairs.batches import with_tensors
from jumok.data.planned import Planned
from jumok.shapes import Tensor
from jumok.training.task import MicroBatch, UpdateSource

Made = tuple[Sequence[Planned[MicroBatch]], Mapping[str, object]]

Choose = Callable[[Sequence[Planned[MicroBatch]]], Iterable[int]]
"""The numbers of the micro-batches of an update that this process uses."""


class Prefetcher:
    """The same updates, each made in a thread while the one before is used.

    Its cursor is the position after the update that was last given, not the one made since.

    Args:
        choose: which micro-batches are made; the others stay planned.
        prepare: what else is done with a micro-batch in that thread.
    """

    def __init__(
        self,
        source: UpdateSource,
        choose: Choose,
        prepare: Callable[[MicroBatch], MicroBatch],
    ) -> None:
        self._source, self._choose, self._prepare = source, choose, prepare
        self._thread = ThreadPoolExecutor(1)
        self._next: Future[Made] | None = None
        self._cursor = source.cursor

    def __next__(self) -> Sequence[MicroBatch]:
        return [batch.collate() for batch in self.planned()]

    def planned(self) -> Sequence[Planned[MicroBatch]]:
        update = self._next or self._thread.submit(self._make)
        batches, self._cursor = update.result()
        self._next = self._thread.submit(self._make)
        return batches

    @property
    def cursor(self) -> Mapping[str, object]:
        return self._cursor

    @property
    def epoch_steps(self) -> float:
        return self._source.epoch_steps

    def restore(self, cursor: Any) -> None:
        if self._next is not None:
            self._next.exception()  # waits: the thread must not use the source meanwhile
            self._next = None
        self._source.restore(cursor)
        self._cursor = self._source.cursor

    def _make(self) -> Made:
        batches = list(self._source.planned())
        for number in self._choose(batches):
            batch = self._prepare(batches[number].collate())
            batches[number] = Planned(batches[number].work, partial(_itself, batch))
        return batches, self._source.cursor


def _itself(batch: MicroBatch) -> MicroBatch:
    return batch


def prefetch(source: UpdateSource, device: torch.device, choose: Choose) -> UpdateSource:
    """The updates in the way that keeps this device busy.

    A GPU copies from pinned memory while it computes. The cores of a CPU are busy with the step.
    """
    if device.type == "cpu":
        return source
    return Prefetcher(
        source, choose, partial(_pinned if device.type == "cuda" else _computed, device)
    )


def _pinned(device: torch.device, batch: MicroBatch) -> MicroBatch:
    with torch.cuda.device(device):  # a thread of its own would begin with the first GPU
        return with_tensors(batch, Tensor.pin_memory)


def _computed(_: torch.device, batch: MicroBatch) -> MicroBatch:
    return with_tensors(batch, lambda tensor: tensor)
