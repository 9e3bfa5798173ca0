"""The memory of this machine: all of it, and what is free."""

import os
from pathlib import Path

KIB = 1024


def total_memory() -> int:
    """In bytes; a terabyte where the system does not report it."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # Windows has no sysconf
        return 1 << 40


def free_memory(system: Path = Path("/")) -> int:
    """The bytes that this process can still use; all of the machine's where Linux is not asked.

    It is the smaller one of what the machine has left and of what the limit of a container does.
    What a file cache holds counts as free, since the system gives it up.

    Source: proc(5), MemAvailable; the kernel's documentation of control groups, memory.max.
    """
    told = _numbers(system / "proc" / "meminfo")
    free = told["MemAvailable:"] * KIB if "MemAvailable:" in told else total_memory()
    group = system / "sys" / "fs" / "cgroup"
    limit, used = (_number(group / name) for name in ("memory.max", "memory.current"))
    if limit is None or used is None:  # no limit, or not version 2
        return free
    return min(free, max(0, limit - used + _numbers(group / "memory.stat").get("inactive_file", 0)))


def _number(file: Path) -> int | None:
    try:
        return int(file.read_text("ascii"))
    except (OSError, ValueError):
        return None


def _numbers(file: Path) -> dict[str, int]:
    """The first number of each line, by the word before it."""
    try:
        lines = (line.split() for line in file.read_text("ascii").splitlines())
        return {name: int(number) for name, number, *_ in lines if number.isdecimal()}
    except (OSError, ValueError):
        return {}
