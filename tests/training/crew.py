"""Ranks that are threads of one process. What one sends arrives, or a deadline ends the wait."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from queue import Queue
from typing import TypeVar

import torch

from jumok.json_types import JsonObject

SECONDS = 60

Found = TypeVar("Found")


class Member:
    """One of them."""

    def __init__(self, crew: "Crew", index: int) -> None:
        self.count, self.index, self.local_rank, self._crew = crew.count, index, index, crew

    def all_gather(self, own: torch.Tensor) -> Sequence[torch.Tensor]:
        self._crew.board[self.index] = own.clone()
        self._crew.barrier.wait(SECONDS)
        gathered = [each.clone() for each in self._crew.board]
        self._crew.barrier.wait(SECONDS)
        return gathered

    def sendrecv(self, other: int, own: torch.Tensor, theirs: torch.Tensor) -> None:
        if own.numel():
            self._crew.queues[self.index, other].put(own.clone())
        if theirs.numel():
            sent = self._crew.queues[other, self.index].get(timeout=SECONDS)
            assert sent.shape == theirs.shape
            assert sent.dtype == theirs.dtype
            theirs.copy_(sent)

    def broadcast(self, facts: JsonObject | None) -> JsonObject:
        if facts is not None:
            self._crew.facts = facts
        self._crew.barrier.wait(SECONDS)
        said = self._crew.facts
        self._crew.barrier.wait(SECONDS)
        return said


class Crew:
    """So many ranks."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.barrier = threading.Barrier(count)
        self.board: list[torch.Tensor] = [torch.empty(0)] * count
        self.facts: JsonObject = {}
        every = range(count)
        self.queues = {(one, other): Queue() for one in every for other in every}

    def work(self, task: Callable[[Member], Found]) -> list[Found]:
        """What the task gives each of them."""

        def member(index: int) -> Found:
            try:
                return task(Member(self, index))
            except BaseException:
                self.barrier.abort()  # the others need not wait for the deadline
                raise

        with ThreadPoolExecutor(self.count) as pool:
            running = [pool.submit(member, index) for index in range(self.count)]
        errors = [error for each in running if (error := each.exception()) is not None]
        # Whoever waited for one that failed has failed with it, and knows nothing of why.
        for error in sorted(
            errors, key=lambda each: isinstance(each, threading.BrokenBarrierError)
        ):
            raise error
        return [each.result() for each in running]
