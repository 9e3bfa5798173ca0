"""Watching a training program from outside: its own progress lines against its CPU-seconds.

Nothing is patched into the program. It writes its progress as it always does; the watcher reads
the lines as they appear and asks the kernel how much CPU time the program has used by then.
"""

import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.errors import BenchmarkError
from benchmarks.measure import Point, Rate, after_warm_up, rate_of
from benchmarks.process import cpu_seconds, one_thread_environment, peak_bytes, pinned, stop

POLL_SECONDS = 0.02
"""Seconds between two looks at the progress file: the error of one point, at most."""

STALL_SECONDS = 600.0
"""Seconds without any progress after which a program counts as stuck."""

ReadProgress = Callable[[str, float], float | None]
"""(line, when it was read in seconds) -> target tokens done since the last such line, or None."""


@dataclass(frozen=True)
class Job:
    """A training program ready to be started.

    `progress` is the file its progress lines go to; None means its standard output.
    """

    command: list[str | Path]
    folder: Path
    read_progress: ReadProgress
    progress: Path | None = None
    environment: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Watched:
    """What was seen of a training program.

    `peak_bytes` is the resident memory at its highest, `start_cpu_seconds` what the program used
    before its first progress, `wall_seconds` how long the whole watch took.
    """

    rate: Rate
    peak_bytes: int
    start_cpu_seconds: float
    wall_seconds: float


def watch(job: Job, core: int, seconds: float, warm_up: float) -> Watched:
    """Run a job on one core until `seconds` CPU-seconds after its warm-up are measured; stop it.

    Raises:
        BenchmarkError: the program ended by itself or made no progress for `STALL_SECONDS`.
    """
    output = job.folder / "output.log"
    begun = time.monotonic()
    with output.open("wb") as log:
        process = subprocess.Popen(
            pinned(job.command, core),
            stdout=log,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            cwd=job.folder,
            env=one_thread_environment() | job.environment,
            start_new_session=True,
        )
    try:
        points, peak = _collect(process, job, output, seconds + warm_up)
    finally:
        stop(process)
    measured = after_warm_up(points, warm_up)
    if len(measured) < 2:
        raise SystemExit(f"one report in {seconds:g} CPU-seconds: give more --seconds")
    return Watched(
        rate=rate_of(measured),
        peak_bytes=peak,
        start_cpu_seconds=points[0].cpu_seconds,
        wall_seconds=time.monotonic() - begun,
    )


def _collect(
    process: subprocess.Popen[bytes], job: Job, output: Path, cpu_budget: float
) -> tuple[list[Point], int]:
    points: list[Point] = []
    tokens, peak = 0.0, 0
    for line in _lines(process, job.progress or output, output):
        done = job.read_progress(line, time.monotonic())
        if done is None:
            continue
        tokens += done
        points.append(Point(tokens, cpu_seconds(process.pid)))
        peak = max(peak, peak_bytes(process.pid))
        if points[-1].cpu_seconds - points[0].cpu_seconds >= cpu_budget:
            break
    return points, peak


def _lines(process: subprocess.Popen[bytes], progress: Path, output: Path) -> Iterator[str]:
    """Whole lines of a growing file, as they appear, for as long as the process lives."""
    read, rest, last = 0, b"", time.monotonic()
    while True:
        ended = process.poll() is not None
        if progress.exists():
            with progress.open("rb") as file:
                file.seek(read)
                chunk = file.read()
            read += len(chunk)
            *lines, rest = (rest + chunk).split(b"\n")
            if lines:
                last = time.monotonic()
            for line in lines:
                yield line.decode(errors="replace")
        if ended or time.monotonic() - last > STALL_SECONDS:
            why = f"ended with code {process.returncode}" if ended else "makes no progress"
            tail = "\n".join(output.read_text(errors="replace").splitlines()[-20:])
            raise BenchmarkError(
                f"{process.args!r} {why} before it was measured; the end of {output}:\n{tail}"
            )
        time.sleep(POLL_SECONDS)
