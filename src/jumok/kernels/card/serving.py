"""Whether the kernels for GPUs serve."""

import functools
from importlib.util import find_spec

import torch

from jumok.shapes import Tensor

KNOWN = (torch.float32, torch.bfloat16, torch.float16)


@functools.cache
def installed() -> bool:
    """Whether Triton is."""
    return find_spec("triton") is not None


def serves(states: Tensor) -> bool:
    """Whether a tensor is on a GPU for which Triton compiles; the kernels add up in float32."""
    return states.device.type == "cuda" and states.dtype in KNOWN and installed()
