"""Compiles kernels.c once a machine and loads it."""

import ctypes
import functools
from collections.abc import Callable
from pathlib import Path

import torch

from jumok.kernels.libraries.building import built
from jumok.kernels.noise import DropoutMask
from jumok.shapes import Tensor

SOURCES = tuple(
    Path(__file__).with_name(name)
    for name in (
        "kernels.c",
        "vectors.h",
        "attention.h",
        "heads.h",
        "loss.h",
        "recurrent.h",
        "flow.h",
    )
)
TYPE_SUFFIXES = {torch.float32: "f32", torch.bfloat16: "bf16"}
LANES = 16
PLAIN = torch.Tensor, torch.nn.Parameter

Argument = (
    Tensor | int | float | None | ctypes.Array[ctypes.c_int64] | ctypes.Array[ctypes.c_uint64]
)


@functools.cache
def library() -> ctypes.CDLL | None:
    """The compiled kernels; None if there is no compiler that can build them."""
    return built("kernels", SOURCES)


def serves(*tensors: Tensor) -> bool:
    """Whether the kernels can read all of these: on the CPU, of one known element type, and none of
    a subclass, such as those that torch traces programs with, which have no elements.
    """
    first = tensors[0]
    return (
        first.dtype in TYPE_SUFFIXES
        and all(
            tensor.device.type == "cpu" and tensor.dtype == first.dtype and type(tensor) in PLAIN
            for tensor in tensors
        )
        and library() is not None
    )


def call(name: str, dtype: torch.dtype, *arguments: Argument) -> float:
    """Runs the kernel `name` for elements of `dtype`; a tensor is passed as its address."""
    return float(_function(name, dtype)(*map(_kernel_argument, arguments)))


@functools.cache
def _function(name: str, dtype: torch.dtype) -> Callable[..., float]:
    kernels = library()
    assert kernels is not None
    function: Callable[..., float] = getattr(kernels, f"{name}_{TYPE_SUFFIXES[dtype]}")
    function.restype = ctypes.c_double  # type: ignore[attr-defined]  # one of ctypes' functions
    return function


def numbers(drop: DropoutMask | None) -> tuple[int, int]:
    """A mask in the form that the kernels take; threshold 0 drops nothing."""
    return (0, 0) if drop is None else (drop.threshold, int(drop.seed))


def _kernel_argument(value: Argument) -> object:
    if isinstance(value, torch.Tensor):
        return ctypes.c_void_p(value.data_ptr())
    if isinstance(value, float):
        return ctypes.c_double(value)
    return ctypes.c_int64(value) if isinstance(value, int) else value
