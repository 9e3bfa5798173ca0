"""Ranks that are processes, joined over gloo, which do one task after another until a deadline."""

import multiprocessing
import pickle
import time
import traceback
from collections.abc import Callable, Collection
from multiprocessing.connection import Connection
from typing import Any

import torch

from jumok.cli.training.processes import free_port
from jumok.training.torch_ranks import TorchRanks, process_group

SECONDS = 300  # of machines that are busy


class Group:
    """So many processes; used in a `with` statement, after which none is left.

    What they are given and what they answer is pickled; a task is a function of a module.
    """

    def __init__(self, count: int) -> None:
        port = free_port()
        # Forked from a process without threads, which imports torch once for all of them.
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["tests.training.gloo_group", "jumok.training.learner"])
        self._pipes, self._processes = [], []
        self._hung = ""  # what has not ended: answers that come later are none to the next task
        for rank in range(count):
            ours, theirs = context.Pipe()
            process = context.Process(target=_member, args=(theirs, rank, count, port), daemon=True)
            process.start()
            theirs.close()
            self._pipes.append(ours)
            self._processes.append(process)

    def __enter__(self) -> "Group":
        return self

    def __exit__(self, *error: object) -> None:
        for process in self._processes:
            process.kill()
            process.join()

    def work(self, task: Callable[..., Any], *given: Any, dying: Collection[int] = ()) -> list[Any]:
        """What `task(ranks, *given)` gives each of them.

        Args:
            dying: the ranks that it ends, which answer nothing.

        Raises:
            AssertionError: one of them failed, or the deadline has passed.
        """
        assert not self._hung, self._hung
        for pipe in self._pipes:
            pipe.send((task, given))
        until = time.monotonic() + SECONDS
        answers = []
        living = [rank for rank in range(len(self._pipes)) if rank not in dying]
        for rank in living:
            pipe = self._pipes[rank]
            if not pipe.poll(max(0.0, until - time.monotonic())):
                self._hung = f"rank {rank} hangs in {task}"
                raise AssertionError(self._hung)
            answers.append(pickle.loads(pipe.recv_bytes()))
        for rank, (_, failure) in zip(living, answers, strict=True):
            assert failure is None, f"rank {rank}: {failure}"
        return [answer for answer, _ in answers]


def _member(pipe: Connection, rank: int, count: int, port: int) -> None:
    torch.set_num_threads(1)
    variables = {"RANK": rank, "WORLD_SIZE": count, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    with process_group({name: str(value) for name, value in variables.items()}) as ranks:
        while True:
            try:
                task, given = pipe.recv()
            except EOFError:
                return
            pipe.send_bytes(pickle.dumps(_answer(task, ranks, given)))


def _answer(
    task: Callable[..., Any], ranks: TorchRanks, given: tuple[Any, ...]
) -> tuple[Any, str | None]:
    try:
        return task(ranks, *given), None
    except Exception:
        return None, traceback.format_exc()
