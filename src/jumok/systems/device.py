"""The device that systems compute on. Importing it imports no torch."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Literal

from jumok.engine import Precision
from jumok.errors import ConfigError

if TYPE_CHECKING:
    import torch

DEVICE_KINDS = ("cpu", "cuda")
PrecisionName = Literal["fp32", "bf16"]
EnginePrecision = Literal["auto", Precision]
"""The number format; "auto": on the native engine that of the bundle, otherwise float32."""
EngineName = Literal["auto", "torch", "native"]
"""What computes; "auto": the native engine where it serves the model, otherwise torch."""

DRIVERS = ("/dev/nvidiactl", "/dev/dxg", "/proc/driver/nvidia/version")


def dtype_of(precision: PrecisionName) -> torch.dtype:
    """The number format of this name."""
    import torch

    return torch.float32 if precision == "fp32" else torch.bfloat16


def precision_name(dtype: torch.dtype) -> PrecisionName:
    """The name of this number format."""
    import torch

    return "bf16" if dtype == torch.bfloat16 else "fp32"


def cores() -> int:
    """The processor's cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # only Linux has it
        return os.cpu_count() or 1


def has_gpu() -> bool:
    """Whether "auto" is a GPU; torch is asked only where there may be one."""
    may_have_gpu = "torch" in sys.modules or sys.platform == "win32"
    if not may_have_gpu and not any(map(os.path.exists, DRIVERS)):
        return False
    import torch

    return torch.cuda.is_available()


def choose_device(name: str) -> torch.device:
    """The device of this name; "auto" is a GPU if there is one.

    Raises:
        ConfigError: the device does not exist.
    """
    import torch

    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    kind = name.partition(":")[0]
    if kind not in DEVICE_KINDS:
        raise _unusable(name, "jumok computes on CPUs and on GPUs with CUDA only")
    if kind == "cuda" and not torch.cuda.is_available():
        raise _unusable(name, "torch finds no GPU with CUDA on this machine")
    try:
        device = torch.device(name)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:
        raise _unusable(name, str(error).splitlines()[0]) from error
    return device


def _unusable(name: str, why: str) -> ConfigError:
    return ConfigError(
        "this device cannot be used.",
        expected="auto, cpu, cuda or cuda:0",
        got=f"{name!r}: {why}",
        do="leave the device out, or use cpu",
    )
