"""The measuring machine: processor, cores, memory, matrix peak, versions, date."""

import json
import os
import platform
import subprocess
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from benchmarks.environments import FOLDER, OURS, python_of
from benchmarks.process import one_thread_environment, pinned
from benchmarks.results import Row

TELLING_FLAGS = ("avx2", "avx512f", "avx512_vnni", "avx512_bf16", "amx_bf16", "asimd", "bf16")
"""The processor's features that decide how fast matrices are multiplied."""


def describe(core: int) -> Row:
    """Processor, family, cores, flags that matter, memory (GiB), versions, date; and how fast one
    core multiplies matrices (GFLOP/s), by which figures of two machines can be compared.
    """
    processor = _first_processor()
    flags = (processor.get("flags") or processor.get("Features") or "").split()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return _matrix_peak(core) | {
        "processor": processor.get("model name", platform.processor()),
        "family": f"{processor.get('cpu family', '?')}/{processor.get('model', '?')}",
        "cores": os.cpu_count(),
        "flags": [flag for flag in TELLING_FLAGS if flag in flags],
        "memory_gib": round(memory, 1),
        "system": platform.platform(terse=True),
        "python": platform.python_version(),
        "torch": version("torch"),
        "jumok": version("jumok"),
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    }


def _matrix_peak(core: int) -> Row:
    worker = FOLDER / "workers" / "matrix_peak.py"
    done = subprocess.run(
        pinned([python_of(OURS), worker], core),
        env=one_thread_environment(),
        capture_output=True,
        check=True,
    )
    return json.loads(done.stdout)


def _first_processor() -> dict[str, str]:
    """The first block of /proc/cpuinfo as a dictionary; empty where there is no such file."""
    path = Path("/proc/cpuinfo")
    block = path.read_text().split("\n\n")[0] if path.exists() else ""
    pairs = (line.partition(":") for line in block.splitlines())
    return {key.strip(): value.strip() for key, _, value in pairs}
