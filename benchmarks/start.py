"""The start time of commands that compute nothing."""

import resource
import subprocess
import time
from pathlib import Path
from statistics import median

from benchmarks.bundle import trained_bundle
from benchmarks.corpus import joint_corpus
from benchmarks.environments import OURS, python_of
from benchmarks.options import Options
from benchmarks.process import one_thread_environment, pinned
from benchmarks.results import Row

REPEATS = 9


def run(options: Options) -> list[Row]:
    """One row a command: medians of `REPEATS`."""
    bundle = trained_bundle(joint_corpus(), options.core)
    commands: dict[str, list[str | Path]] = {"--help": ["--help"], "info MODEL": ["info", bundle]}
    return [
        _row(name, arguments, options.core)
        for name, arguments in commands.items()
        if options.wants(name)
    ]


def _row(name: str, arguments: list[str | Path], core: int) -> Row:
    command = pinned([python_of(OURS).with_name("jumok"), *arguments], core)
    _time(command)  # writes the bytecode
    times = [_time(command) for _ in range(REPEATS)]
    return {
        "command": f"jumok {name}",
        "wall_seconds": median(wall for wall, _ in times),
        "cpu_seconds": median(cpu for _, cpu in times),
    }


def _time(command: list[str]) -> tuple[float, float]:
    """Seconds, and CPU-seconds, of one run."""
    wall, cpu = time.perf_counter(), _children_seconds()
    subprocess.run(command, stdout=subprocess.DEVNULL, env=one_thread_environment(), check=True)
    return time.perf_counter() - wall, _children_seconds() - cpu


def _children_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
