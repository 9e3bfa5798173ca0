"""Runs of a sweep side by side: a bounded number at once, until all have ended."""

import json
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, runtime_checkable

from jumok.cli.scale.grid import Combination
from jumok.cli.scale.sweep_folder import SweepFolder
from jumok.cli.scale.workers import StartedRun, Workers
from jumok.json_types import JsonObject
from jumok.training.interrupt import Interrupt

PAUSE = 0.05
"""Seconds between two looks at the runs."""

Command = Callable[[Combination, int], tuple[Sequence[str], Mapping[str, str]]]
"""The command of a run and its variables, for the slot in which it runs, from 0."""


@dataclass(frozen=True)
class Failure:
    """A run that ended with an error.

    Attributes:
        code: negative: the signal that ended it.
        last: the last line that it printed.
    """

    name: str
    code: int
    last: str
    log: Path


@dataclass
class Ended:
    """What became of a sweep.

    Attributes:
        failures: the runs that ended with an error.
        signal: that stopped the sweep; None: none did.
        left: runs that were not started, or were stopped.
    """

    failures: list[Failure] = field(default_factory=list)
    signal: int | None = None
    left: int = 0


@runtime_checkable
class SweepScreen(Protocol):
    """Where the progress is shown."""

    def begin(self, name: str, number: int) -> None:
        """A run was started, the number-th of all."""
        ...

    def look(self, names: Sequence[str]) -> None:
        """These runs are running."""
        ...

    def end(self, name: str, failure: Failure | None) -> None:
        """A run has ended."""
        ...


def run_all(
    wanted: Sequence[Combination],
    folder: SweepFolder,
    workers: Workers,
    command: Command,
    jobs: int,
    screen: SweepScreen,
) -> Ended:
    """Runs all combinations, `jobs` at once; those that fail do not end the others.

    SIGINT and SIGTERM are passed on to the runs, which stop with their checkpoints; a second one
    ends them at once.
    """
    waiting, running = deque(enumerate(wanted, 1)), dict[int, tuple[Combination, StartedRun]]()
    ended = Ended()
    with Interrupt() as interrupt:
        try:
            while running or (waiting and interrupt.signal is None):
                if interrupt.signal is not None and ended.signal is None:
                    ended.signal = interrupt.signal
                    for _, started in running.values():
                        started.interrupt()
                for slot in range(jobs):
                    if slot not in running and waiting and interrupt.signal is None:
                        number, one = waiting.popleft()
                        started = workers.start(*command(one, slot), folder.log(one.name))
                        running[slot] = one, started
                        screen.begin(one.name, number)
                for slot, (one, started) in list(running.items()):
                    if (code := started.poll()) is not None:
                        del running[slot]
                        _end(one, code, folder, ended, screen)
                screen.look([one.name for one, _ in running.values()])
                time.sleep(PAUSE)
        finally:
            for _, started in running.values():
                started.kill()
    ended.signal = ended.signal or interrupt.signal
    ended.left += len(waiting)
    return ended


def _end(
    one: Combination, code: int, folder: SweepFolder, ended: Ended, screen: SweepScreen
) -> None:
    """Notes how a run has ended."""
    if code == 0:
        folder.finish(one.name, last_object(folder.log(one.name)))
        screen.end(one.name, None)
    elif ended.signal is not None:
        ended.left += 1
    else:
        log = folder.log(one.name)
        failure = Failure(one.name, code, said_at_last(log), log)
        ended.failures.append(failure)
        screen.end(one.name, failure)


def last_object(log: Path) -> JsonObject:
    """The last line that is a JSON object: the result of `jumok train --json`."""
    for line in reversed(log.read_text("utf-8", errors="replace").splitlines()):
        if line.startswith("{"):
            found: JsonObject = json.loads(line)
            return found
    return {}


def said_at_last(log: Path) -> str:
    """The first line of the error, or the last one that was printed."""
    lines = [line for line in log.read_text("utf-8", errors="replace").splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("error: ")]
    return (errors or lines or [""])[-1]
