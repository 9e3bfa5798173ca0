"""Processes on one core: starting them, their CPU-seconds, their peak memory.

Linux only: the figures come from /proc. A program under measurement leads a session of its own, so
"the program" is every process of that session (it and its data workers).
"""

import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")

ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
}


def one_thread_environment() -> dict[str, str]:
    """This process's environment with one thread a library, and with bytecode allowed."""
    inherited = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    return inherited | ONE_THREAD


def pinned(command: Sequence[str | Path], core: int) -> list[str]:
    """The command held to one core."""
    return ["taskset", "-c", str(core), *map(str, command)]


def stop(process: subprocess.Popen[bytes], patience: float = 5.0) -> None:
    """End a process that leads a session, with everything it started."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(patience)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def cpu_seconds(session: int) -> float:
    """User plus system seconds of all processes of a session, and of their children that ended."""
    ticks = 0
    for fields in _stat_of_session(session):
        ticks += sum(int(field) for field in fields[11:15])  # utime stime cutime cstime
    return ticks / TICKS_PER_SECOND


def peak_bytes(session: int) -> int:
    """The sum of the peak resident sizes (VmHWM) of the processes of a session."""
    total = 0
    for process in _processes_of_session(session):
        total += _peak_of(process)
    return total


def _peak_of(process: Path) -> int:
    for line in _read(process / "status").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0


def _processes_of_session(session: int) -> Iterator[Path]:
    for process in Path("/proc").glob("[0-9]*"):
        fields = _stat(process)
        if fields and int(fields[3]) == session:
            yield process


def _stat_of_session(session: int) -> Iterator[list[str]]:
    for process in Path("/proc").glob("[0-9]*"):
        fields = _stat(process)
        if fields and int(fields[3]) == session:
            yield fields


def _stat(process: Path) -> list[str]:
    # The command's name is in parentheses and may contain spaces: count fields after the last one.
    return _read(process / "stat").rpartition(")")[2].split()


def _read(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:  # the process ended between the listing and the reading
        return ""
