"""The runs of a sweep as tasks of Ray: on the machines of a cluster, or on this one.

Every machine needs jumok, the data and the folder of the sweep at the same place.
"""

import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jumok.cli.scale.workers import LEASH
from jumok.environment import ray_is_named, with_variables
from jumok.late import late_imports

with late_imports("jumok sweep --workers ray", extra="ray"):
    import ray
    from ray import exceptions as ray_exceptions

STOPPED = -signal.SIGTERM
PAUSE = 0.2
"""Seconds between two looks at a run."""


def train_in_task(command: list[str], variables: dict[str, str], log: str) -> int:
    """The task: runs the command on its machine, and gives its exit code.

    It is interrupted when there is a file named as the log with .stop, which a run that has not
    started yet sees, too. Ray's processes, and all that they start, block SIGINT.
    """
    stop = stop_file(Path(log))
    if stop.exists():
        return STOPPED
    with Path(log).open("ab") as stream:
        process = subprocess.Popen(
            command,
            env=with_variables({**variables, LEASH: "1"}),
            stdin=subprocess.PIPE,
            stdout=stream,
            stderr=stream,
            start_new_session=True,
        )
    while process.poll() is None and not stop.exists():
        time.sleep(PAUSE)
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
    return process.wait()


def stop_file(log: Path) -> Path:
    """The file that asks a run to stop."""
    return log.with_name(f"{log.name}.stop")


class RayRun:
    """A task."""

    def __init__(self, task: Any, log: Path) -> None:
        self._task, self._log = task, log
        self._code: int | None = None

    def poll(self) -> int | None:
        if self._code is None and ray.wait([self._task], timeout=0)[0]:
            try:
                self._code = ray.get(self._task)
            except ray_exceptions.TaskCancelledError:
                self._code = STOPPED
            except ray_exceptions.RayError:  # the machine was lost
                self._code = 1
        return self._code

    def interrupt(self) -> None:
        stop_file(self._log).touch()

    def kill(self) -> None:
        self.interrupt()
        ray.cancel(self._task, force=True)


class RayWorkers:
    """Tasks of the cluster in RAY_ADDRESS, or of one that is started on this machine.

    Args:
        cores, cards: of each task.
    """

    def __init__(self, cores: int, cards: int) -> None:
        named = ray_is_named()
        ray.init(
            address="auto" if named else None,
            logging_level="error",
            log_to_driver=False,
            include_dashboard=False,
        )
        limits = {"num_cpus": cores, "num_gpus": cards, "max_retries": 0}
        self._task = ray.remote(**limits)(train_in_task)

    def start(self, command: Sequence[str], variables: Mapping[str, str], log: Path) -> RayRun:
        stop_file(log).unlink(missing_ok=True)
        task = self._task.remote(list(command), dict(variables), str(log.resolve()))
        return RayRun(task, log)

    def close(self) -> None:
        ray.shutdown()
