"""Compiles kernels.c once a machine and loads it."""

import ctypes
import functools
import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from pathlib import Path

import torch

from jumok.kernels.noise import Mask
from jumok.shapes import Tensor

SOURCE = Path(__file__).with_name("kernels.c")
FLAGS = ("-O3", "-march=native", "-fno-math-errno", "-shared", "-fPIC")
SUFFIXES = {torch.float32: "f32", torch.bfloat16: "bf16"}
LANES = 16

Argument = Tensor | int | float | None | ctypes.Array[ctypes.c_int64]


@functools.cache
def library() -> ctypes.CDLL | None:
    """The compiled kernels; None where there is no compiler that makes them."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        return None
    # the processor's name: a home folder may be shared by machines of different kinds
    version = subprocess.run([compiler, "--version"], capture_output=True, text=True).stdout
    identity = "\n".join((SOURCE.read_text(), *FLAGS, version, _processor()))
    name = f"kernels-{hashlib.sha256(identity.encode()).hexdigest()[:16]}.so"
    for folder in (Path.home() / ".cache" / "jumok", Path(tempfile.gettempdir()) / "jumok"):
        try:
            return ctypes.CDLL(str(_compiled(compiler, folder / name)))
        except (OSError, subprocess.CalledProcessError):
            continue
    return None


def serves(*tensors: Tensor) -> bool:
    """Whether the kernels can read all of these: on the CPU, one known element type."""
    first = tensors[0]
    return (
        first.dtype in SUFFIXES
        and all(tensor.device.type == "cpu" and tensor.dtype == first.dtype for tensor in tensors)
        and library() is not None
    )


def call(name: str, dtype: torch.dtype, *arguments: Argument) -> float:
    """Runs the kernel `name` for elements of `dtype`; a tensor is passed as its address."""
    kernels = library()
    assert kernels is not None
    function = getattr(kernels, f"{name}_{SUFFIXES[dtype]}")
    function.restype = ctypes.c_double
    return float(function(*map(_argument, arguments)))


def numbers(drop: Mask | None) -> tuple[int, int]:
    """A mask as the kernels take it: threshold 0 drops nothing."""
    return (0, 0) if drop is None else (drop.threshold, drop.seed)


def _argument(value: Argument) -> object:
    if isinstance(value, torch.Tensor):
        return ctypes.c_void_p(value.data_ptr())
    if isinstance(value, float):
        return ctypes.c_double(value)
    return ctypes.c_int64(value) if isinstance(value, int) else value


def _compiled(compiler: str, target: Path) -> Path:
    """Compiles beside the target and renames: another process never sees half a file."""
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        partial = target.with_suffix(f".{os.getpid()}")
        command = [compiler, *FLAGS, str(SOURCE), "-o", str(partial), "-lm"]
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
