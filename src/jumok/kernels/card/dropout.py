"""Dropout on a GPU, in one pass: each element's hash is computed where the element is read.

The readable twin is `DropoutMask.apply_plainly`, whose hashes are tensors of int64: 8 bytes an
element, written and read six times.
"""

from typing import TYPE_CHECKING

import torch
import triton
import triton.language as tl
from torch.autograd.function import FunctionCtx

from jumok.shapes import Float, Int, Tensor

if TYPE_CHECKING:

    class DropoutContext(FunctionCtx):
        """What the backward pass needs.

        Attributes:
            dropped: the share, the threshold and the seed.
        """

        dropped: tuple[float, int, int | Tensor]
else:
    DropoutContext = FunctionCtx

BLOCK = 1024


@triton.jit
def kept(place, threshold, seed):  # type: ignore[no-untyped-def]
    """Whether elements at these places stay: the twin is `jumok.kernels.noise.kept`."""
    number = place.to(tl.uint32) * 0x9E3779B9 + seed.to(tl.uint32)
    number = (number ^ (number >> 16)) * 0x7FEB352D
    number = (number ^ (number >> 15)) * 0x846CA68B
    return (number ^ (number >> 16)) >= threshold.to(tl.uint32)


@triton.jit
def _drop(states, found, count, threshold, seed, scale, size: tl.constexpr, held: tl.constexpr):  # type: ignore[no-untyped-def]
    place = tl.program_id(0).to(tl.int64) * size + tl.arange(0, size)
    inside = place < count
    if held:
        seed = tl.load(seed)
    value = tl.load(states + place, mask=inside)
    dropped = tl.where(kept(place, threshold, seed), value.to(tl.float32) * scale, 0.0)
    tl.store(found + place, dropped.to(value.dtype), mask=inside)


class _Dropout(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: DropoutContext, states: Tensor, p: float, threshold: int, seed: int | Tensor
    ) -> Tensor:
        ctx.dropped = p, threshold, seed
        return dropped(states, p, threshold, seed)

    @staticmethod
    def backward(ctx: DropoutContext, slope: Tensor) -> tuple[Tensor, None, None, None]:
        return dropped(slope, *ctx.dropped), None, None, None


def dropout(
    states: Float[Tensor, "*axes"], p: float, threshold: int, seed: int | Int[Tensor, ""]
) -> Float[Tensor, "*axes"]:
    """The states with the elements zeroed whose hash is below the threshold, and its gradient.

    Args:
        seed: a number, or where it is in the memory of the GPU, int64.
    """
    found: Tensor = _Dropout.apply(states, p, threshold, seed)
    return found


def dropped(
    states: Float[Tensor, "*axes"], p: float, threshold: int, seed: int | Int[Tensor, ""]
) -> Float[Tensor, "*axes"]:
    """`dropout` without a gradient."""
    states = states.contiguous()
    found = torch.empty_like(states)
    count = states.numel()
    given = seed if isinstance(seed, Tensor) else signed(seed)
    if count:
        with torch.cuda.device_of(states):
            _drop[(triton.cdiv(count, BLOCK),)](
                states, found, count, signed(threshold), given, 1.0 / (1.0 - p),
                size=BLOCK, held=isinstance(given, Tensor),
            )  # fmt: skip
    return found


def signed(word: int) -> int:
    """32 bits as a signed number: Triton compiles a kernel for each width of its arguments."""
    return word - (1 << 32) if word >> 31 else word
