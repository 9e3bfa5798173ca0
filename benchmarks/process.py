"""Processes on one core: starting them, their CPU-seconds, their peak memory.

Linux only: the figures come from /proc. A program under measurement leads a session of its own, so
"the program" is every process of that session (it and its data workers).
"""

import os
import resource
import signal
import subprocess
import time
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
    stats = (fields for _, fields in _processes_of(session))
    ticks = sum(
        int(field) for fields in stats for field in fields[11:15]
    )  # utime stime cutime cstime
    return ticks / TICKS_PER_SECOND


def children_seconds() -> float:
    """User plus system seconds of all processes that this one has started, and that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def own_memory_peak(process: subprocess.Popen[str], seconds: float = 0.01) -> int:
    """Waits for a process; the peak of the bytes that it allocated, apart from mapped files."""
    peak, status = 0, Path(f"/proc/{process.pid}/status")
    while process.poll() is None:
        rows = dict(line.split(":", 1) for line in status.read_text().splitlines())
        peak = max(peak, 1024 * int(rows.get("RssAnon", "0 kB").split()[0]))
        time.sleep(seconds)
    return peak


def peak_bytes(session: int) -> int:
    """The sum of the peak resident sizes (VmHWM) of the processes of a session."""
    return sum(peak_of(process) for process, _ in _processes_of(session))


def peak_of(process: Path) -> int:
    """The peak resident size (VmHWM) of the process with this folder in /proc; 0: it has ended."""
    for line in _read(process / "status").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0


def _processes_of(session: int) -> Iterator[tuple[Path, list[str]]]:
    """Each process, and what its file `stat` has after the name of its command."""
    for process in Path("/proc").glob("[0-9]*"):
        # The name is in parentheses and may contain spaces: count fields after the last one.
        fields = _read(process / "stat").rpartition(")")[2].split()
        if fields and int(fields[3]) == session:
            yield process, fields


def _read(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:  # the process ended between the listing and the reading
        return ""
