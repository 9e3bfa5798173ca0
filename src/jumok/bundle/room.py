"""Whether a model fits into the memory that is free, before its weights are read.

Most systems promise more memory than they have, and end the process that uses it. So an allocation
that succeeds is no sign that there is room.
"""

from pathlib import Path

from jumok.bundle.reading import WEIGHTS, Bundle
from jumok.errors import BundleError, Place
from jumok.models.size import memory

KIB = 1024


def check_room(bundle: Bundle, needed: int, system: Path = Path("/")) -> None:
    """Checks the memory that is free.

    Args:
        needed: bytes.
        system: the root of the files that tell how much is free.

    Raises:
        BundleError: it is less than the model needs.
    """
    free = free_memory(system)
    if needed > free:
        smaller = "" if bundle.precision == "int8" else ", or a smaller file: jumok quantize"
        raise BundleError(
            "the model does not fit into the memory that is free.",
            expected=f"{needed / 1e9:,.2f} GB for the weights",
            got=f"{free / 1e9:,.2f} GB free",
            do=f"end other programs, or use a machine with more memory{smaller}",
            place=Place(bundle.folder / WEIGHTS),
        )


def free_memory(system: Path = Path("/")) -> int:
    """The bytes that this process can still use; all of the machine's where Linux is not asked.

    It is the smaller one of what the machine has left and of what the limit of a container does.
    What a file cache holds counts as free, since the system gives it up.

    Source: proc(5), MemAvailable; the kernel's documentation of control groups, memory.max.
    """
    told = _numbers(system / "proc" / "meminfo")
    free = told["MemAvailable:"] * KIB if "MemAvailable:" in told else memory()
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
