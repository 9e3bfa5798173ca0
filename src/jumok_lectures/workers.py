"""Processes that train side by side, a job each, and what they made before.

Small models keep one core busy and not two, so several are trained at once, each in a process of
its own with one thread. Labs that are run together share what has the same description: the usual
small translator is trained once for all of them.
"""

import multiprocessing
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from types import TracebackType
from typing import Self, TypeVar, cast

from jumok.errors import TrainingError

Job = TypeVar("Job")
Made = TypeVar("Made")
# A new process: a fork of one in which torch has computed can wait for ever.
_SPAWN = multiprocessing.get_context("spawn")


class LabWorkers:
    """Processes for jobs; they start with the first jobs and end with the block.

    Args:
        processes: how many; 1: the calling process does the work itself.

    Attributes:
        seconds: processor time that the processes have used.
    """

    def __init__(self, processes: int = 1) -> None:
        self.processes = processes
        self.seconds = 0.0
        self._pool: ProcessPoolExecutor | None = None
        self._made: dict[str, tuple[object, object]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
            self._pool = None

    def map(self, work: Callable[[Job], Made], jobs: Sequence[Job]) -> list[Made]:
        """work(job) of every job, in their order.

        With several processes, `work` is a function of a module, and jobs can be pickled.

        Raises:
            TrainingError: a process was ended from outside.
        """
        if self.processes == 1 or len(jobs) < 2:
            return [work(job) for job in jobs]
        pool = self._started()
        try:
            timed = list(pool.map(_timed, [work] * len(jobs), jobs))
        except BrokenProcessPool as error:
            raise TrainingError(
                "a process of this lab was ended from outside.",
                do="free memory, or use one process: --threads 1",
            ) from error
        self.seconds += sum(seconds for _, seconds in timed)
        return [made for made, _ in timed]

    def once(self, work: Callable[[Job], Made], jobs: Sequence[Job]) -> list[Made]:
        """As `map`, but what was made of an equal job before is not made again.

        Jobs are equal where their representations are: they are dataclasses of values, and of
        functions of modules.
        """
        keys = [f"{work} {job}" for job in jobs]
        new = {key: job for key, job in zip(keys, jobs, strict=True) if key not in self._made}
        made = self.map(work, list(new.values()))
        # The jobs are kept, so that no other function ever has the address of one of theirs.
        self._made.update(zip(new, zip(new.values(), made, strict=True), strict=True))
        return [cast("Made", self._made[key][1]) for key in keys]

    def _started(self) -> ProcessPoolExecutor:
        if self._pool is None:
            self._pool = ProcessPoolExecutor(self.processes, mp_context=_SPAWN, initializer=_begin)
        return self._pool


def _begin() -> None:
    import torch

    torch.set_num_threads(1)


def _timed(work: Callable[[Job], Made], job: Job) -> tuple[Made, float]:
    """What was made, and the processor seconds that it took."""
    start = time.process_time()
    made = work(job)
    return made, time.process_time() - start
