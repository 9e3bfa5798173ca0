"""Compiles C sources once a machine, and loads the library. Imports no torch."""

import ctypes
import hashlib
import os
import platform
import subprocess
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path

from jumok.environment import cache_folder
from jumok.kernels.compiler import find_compiler

FLAGS = ("-O3", "-march=native", "-fno-math-errno", "-shared", "-fPIC")


def built(name: str, sources: Sequence[Path]) -> ctypes.CDLL | None:
    """The library of these sources, the first of which includes the others.

    Args:
        name: the beginning of its file's name in the cache folder.

    Returns:
        None if there is no compiler that can build it.
    """
    compiler = find_compiler()
    if compiler is None:
        return None
    # the processor's name: a home folder may be shared by machines of different kinds
    version = subprocess.run([compiler, "--version"], check=False, capture_output=True, text=True)
    identity = "\n".join((*map(Path.read_text, sources), *FLAGS, version.stdout, _processor()))
    file = f"{name}-{hashlib.sha256(identity.encode()).hexdigest()[:16]}.so"
    try:
        return ctypes.CDLL(str(_compiled(compiler, sources[0], cache_folder() / file)))
    except (OSError, RuntimeError, subprocess.CalledProcessError):
        return _without_cache(compiler, sources[0], file)


def _without_cache(compiler: str, source: Path, name: str) -> ctypes.CDLL | None:
    """Compiles for this process only: a folder that others can write to cannot be trusted."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            return ctypes.CDLL(str(_compiled(compiler, source, Path(folder) / name)))
        except (OSError, subprocess.CalledProcessError):
            return None


def _compiled(compiler: str, source: Path, target: Path) -> Path:
    """Compiles to another name and renames: no other process or thread sees half a file."""
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        partial = target.with_suffix(f".{os.getpid()}-{threading.get_ident()}")
        command = [compiler, *FLAGS, str(source), "-o", str(partial), "-lm"]
        try:
            subprocess.run(command, check=True, capture_output=True)
            partial.rename(target)
        finally:
            partial.unlink(missing_ok=True)
    return target


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if not cpuinfo.exists():
        return platform.processor() or platform.machine()
    flags = next((line for line in cpuinfo.read_text().split("\n") if line.startswith("flags")), "")
    return platform.machine() + flags
