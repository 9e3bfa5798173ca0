"""Compiles kernels.c once a machine and loads it."""

import ctypes
import functools
import hashlib
import os
import platform
import subprocess
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

import torch

from jumok.environment import cache_folder
from jumok.kernels.compiler import find_compiler
from jumok.kernels.noise import DropoutMask
from jumok.shapes import Tensor

SOURCES = tuple(
    Path(__file__).with_name(name)
    for name in (
        "kernels.c",
        "vectors.h",
        "attention.h",
        "loss.h",
        "recurrent.h",
        "step.h",
        "flow.h",
        "digest.h",
    )
)
FLAGS = ("-O3", "-march=native", "-fno-math-errno", "-shared", "-fPIC")
SUFFIXES = {torch.float32: "f32", torch.bfloat16: "bf16"}
LANES = 16

Argument = (
    Tensor | int | float | None | ctypes.Array[ctypes.c_int64] | ctypes.Array[ctypes.c_uint64]
)


@functools.cache
def library() -> ctypes.CDLL | None:
    """The compiled kernels; None if there is no compiler that can build them."""
    compiler = find_compiler()
    if compiler is None:
        return None
    # the processor's name: a home folder may be shared by machines of different kinds
    version = subprocess.run([compiler, "--version"], check=False, capture_output=True, text=True)
    sources = map(Path.read_text, SOURCES)
    identity = "\n".join((*sources, *FLAGS, version.stdout, _processor()))
    name = f"kernels-{hashlib.sha256(identity.encode()).hexdigest()[:16]}.so"
    try:
        return ctypes.CDLL(str(_compiled(compiler, cache_folder() / name)))
    except (OSError, RuntimeError, subprocess.CalledProcessError):
        return _without_cache(compiler, name)


def _without_cache(compiler: str, name: str) -> ctypes.CDLL | None:
    """Compiles for this process only: a folder that others can write to cannot be trusted."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            return ctypes.CDLL(str(_compiled(compiler, Path(folder) / name)))
        except (OSError, subprocess.CalledProcessError):
            return None


def serves(*tensors: Tensor) -> bool:
    """Whether the kernels can read all of these: on the CPU, of one known element type."""
    first = tensors[0]
    return (
        first.dtype in SUFFIXES
        and all(tensor.device.type == "cpu" and tensor.dtype == first.dtype for tensor in tensors)
        and library() is not None
    )


def call(name: str, dtype: torch.dtype, *arguments: Argument) -> float:
    """Runs the kernel `name` for elements of `dtype`; a tensor is passed as its address."""
    return float(_function(name, dtype)(*map(_argument, arguments)))


@functools.cache
def _function(name: str, dtype: torch.dtype) -> Callable[..., float]:
    kernels = library()
    assert kernels is not None
    function: Callable[..., float] = getattr(kernels, f"{name}_{SUFFIXES[dtype]}")
    function.restype = ctypes.c_double  # type: ignore[attr-defined]  # one of ctypes' functions
    return function


def numbers(drop: DropoutMask | None) -> tuple[int, int]:
    """A mask in the form that the kernels take; threshold 0 drops nothing."""
    return (0, 0) if drop is None else (drop.threshold, drop.seed)


def _argument(value: Argument) -> object:
    if isinstance(value, torch.Tensor):
        return ctypes.c_void_p(value.data_ptr())
    if isinstance(value, float):
        return ctypes.c_double(value)
    return ctypes.c_int64(value) if isinstance(value, int) else value


def _compiled(compiler: str, target: Path) -> Path:
    """Compiles to another name and renames: no other process or thread sees half a file."""
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        partial = target.with_suffix(f".{os.getpid()}-{threading.get_ident()}")
        command = [compiler, *FLAGS, str(SOURCES[0]), "-o", str(partial), "-lm"]
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
