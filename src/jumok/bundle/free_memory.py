"""Whether a model fits into the memory that is free, before its weights are read.

Most systems promise more memory than they have, and end the process that uses it, so an allocation
that succeeds is no sign.
"""

from pathlib import Path

from jumok.bundle.reading import WEIGHTS, Bundle
from jumok.errors import BundleError, Location
from jumok.models.size import memory

KIB = 1024


def check_free_memory(bundle: Bundle, needed: int, system: Path = Path("/")) -> None:
    """Raises a BundleError if the free memory is less than `needed` bytes.

    Args:
        system: the root of the files that tell how much is free.
    """
    free = free_memory(system)
    if needed > free:
        smaller = "" if bundle.precision == "int8" else ", or a smaller file: jumok quantize"
        raise BundleError(
            "the model does not fit into the memory that is free.",
            expected=f"{needed / 1e9:,.2f} GB for the weights",
            got=f"{free / 1e9:,.2f} GB free",
            do=f"end other programs, or use a machine with more memory{smaller}",
            place=Location(bundle.folder / WEIGHTS),
        )


def free_memory(system: Path = Path("/")) -> int:
    """The bytes that this process can still use, within the limit of its container; where Linux is
    not asked, all of the machine's. What a file cache holds counts as free.

    Source: proc(5), MemAvailable; the kernel's documentation of control groups, memory.max.
    """
    meminfo = _numbers(system / "proc" / "meminfo")
    free = meminfo["MemAvailable:"] * KIB if "MemAvailable:" in meminfo else memory()
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
    try:
        lines = (line.split() for line in file.read_text("ascii").splitlines())
        return {name: int(number) for name, number, *_ in lines if number.isdecimal()}
    except (OSError, ValueError):
        return {}
