"""The C compilers of this machine, and what they compile, kept in the cache folder."""

import functools
import hashlib
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from jumok.environment import cache_folder, with_variables
from jumok.kernels.libraries.levels import Level

NONE = (
    "no C compiler: training is about 1.7 times slower, with the same results; install gcc or clang"
)

FLAGS = ("-O3", "-fno-math-errno", "-shared")


@dataclass(frozen=True)
class Compiler:
    """A C compiler.

    Attributes:
        name: what a person calls it.
        is_zig: whether it names processors as zig does.
    """

    name: str
    command: tuple[str, ...]
    is_zig: bool = False

    def flags(self, level: Level | None) -> tuple[str, ...]:
        """The options for a level; None: for this very processor."""
        independent = () if sys.platform == "win32" else ("-fPIC",)
        if level is None:
            return (*FLAGS, *independent, "-mcpu=native" if self.is_zig else "-march=native")
        return (*FLAGS, *independent, *((f"-mcpu={level.zig}",) if self.is_zig else level.flags))


def compilers() -> list[Compiler]:
    """The machine's own compiler, then the one of the package ziglang, if they are installed."""
    own = (shutil.which(name) for name in ("cc", "gcc", "clang"))
    installed = [Compiler(Path(path).name, (path,)) for path in own if path is not None][:1]
    if importlib.util.find_spec("ziglang") is not None:
        installed.append(Compiler("ziglang", (sys.executable, "-m", "ziglang", "cc"), is_zig=True))
    return installed


def find_compiler() -> str | None:
    """The name of the C compiler that would be used; None if there is none."""
    return next((each.name for each in compilers()), None)


def compiled(
    compiler: Compiler, level: Level | None, name: str, sources: Sequence[Path]
) -> tuple[Path, tempfile.TemporaryDirectory[str] | None]:
    """The library of these sources, the first of which includes the others.

    It is in the cache folder, or, where that cannot be used, in the temporary folder that is also
    returned, which the caller removes: a folder that others can write to cannot be trusted.

    Raises:
        RuntimeError: the compiler failed; the message is its last line.
    """
    # the processor's name: a home folder may be shared by machines of different kinds
    flags = compiler.flags(level)
    identity = "\n".join((*map(Path.read_text, sources), *flags, _release(compiler), _processor()))
    stem = f"{name}-{hashlib.sha256(identity.encode()).hexdigest()[:16]}"
    try:
        return _cached_library(compiler, flags, sources[0], cache_folder() / stem), None
    except (OSError, RuntimeError):  # a home folder that cannot be found is a RuntimeError
        folder = tempfile.TemporaryDirectory()
        try:
            return _cached_library(compiler, flags, sources[0], Path(folder.name) / stem), folder
        except (OSError, RuntimeError):
            folder.cleanup()
            raise


def _cached_library(compiler: Compiler, flags: Sequence[str], source: Path, target: Path) -> Path:
    """Compiles to another name and renames: no other process or thread sees half a file.

    The name ends with a digest of the library, which is compared before it is used: loading a file
    that was damaged could end the process.
    """
    for ready in target.parent.glob(f"{target.name}-*.so"):
        if ready.stem == f"{target.name}-{library_digest(ready)}":
            return ready
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_suffix(f".{os.getpid()}-{threading.get_ident()}")
    command = [*compiler.command, *flags, str(source), "-o", str(partial), "-lm"]
    try:
        with tempfile.TemporaryDirectory() as own:
            zig = {"ZIG_GLOBAL_CACHE_DIR": own, "ZIG_LOCAL_CACHE_DIR": own}
            environment = with_variables(zig) if compiler.is_zig else None
            subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
        whole = target.with_name(f"{target.name}-{library_digest(partial)}.so")
        partial.replace(whole)
    except subprocess.CalledProcessError as error:
        said = (error.stderr or "").strip().splitlines() or [f"exit code {error.returncode}"]
        raise RuntimeError(said[-1]) from error
    finally:
        partial.unlink(missing_ok=True)
    return whole


def library_digest(library: Path) -> str:
    """A digest of the file, in 64 hexadecimal digits."""
    return hashlib.sha256(library.read_bytes()).hexdigest()


@functools.cache  # of a compiler that compiles several libraries it is asked once
def _release(compiler: Compiler) -> str:
    command = [*compiler.command, "--version"]
    return subprocess.run(command, check=False, capture_output=True, text=True).stdout


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if not cpuinfo.exists():
        return platform.processor() or platform.machine()
    flags = next((line for line in cpuinfo.read_text().split("\n") if line.startswith("flags")), "")
    return platform.machine() + flags
