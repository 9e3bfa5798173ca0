"""Whether the kernels for GPUs serve."""

import functools
from importlib.util import find_spec

from jumok.shapes import Tensor


@functools.cache
def installed() -> bool:
    """Whether Triton is."""
    return find_spec("triton") is not None


def serves(states: Tensor) -> bool:
    """Whether a tensor is on a GPU for which Triton compiles."""
    return states.device.type == "cuda" and states.is_floating_point() and installed()
