"""Dropout on a GPU, in one pass: each element's hash is computed where the element is read.

The readable twin is `DropoutMask.apply_plainly`, whose hashes are tensors of int64: 8 bytes an
element, written and read six times.
"""

from typing import TYPE_CHECKING, Protocol

import torch
import triton
import triton.language as tl
from torch.autograd.function import FunctionCtx

from jumok.shapes import Float, Tensor


class Mask(Protocol):
    """A `DropoutMask`, whose file imports this one."""

    @property
    def p(self) -> float: ...

    @property
    def seed(self) -> int | Tensor: ...

    @property
    def threshold(self) -> int: ...


if TYPE_CHECKING:

    class DropoutContext(FunctionCtx):
        """What the backward pass needs.

        Attributes:
            mask: what is dropped.
        """

        mask: Mask
else:
    DropoutContext = FunctionCtx

DROPOUT_BLOCK = 1024


@triton.jit
def stays(place, threshold, seed):  # type: ignore[no-untyped-def]
    """Whether elements at these places stay: the twin is `jumok.kernels.noise.kept`."""
    number = place.to(tl.uint32) * 0x9E3779B9 + seed.to(tl.uint32)
    number = (number ^ (number >> 16)) * 0x7FEB352D
    number = (number ^ (number >> 15)) * 0x846CA68B
    return (number ^ (number >> 16)) >= threshold.to(tl.uint32)


@triton.jit
def _drop(states, outputs, count, threshold, seed, scale, size: tl.constexpr, held: tl.constexpr):  # type: ignore[no-untyped-def]
    place = tl.program_id(0).to(tl.int64) * size + tl.arange(0, size)
    inside = place < count
    if held:
        seed = tl.load(seed)
    value = tl.load(states + place, mask=inside)
    dropped = tl.where(stays(place, threshold, seed), value.to(tl.float32) * scale, 0.0)
    tl.store(outputs + place, dropped.to(value.dtype), mask=inside)


class _CardDropout(torch.autograd.Function):
    @staticmethod
    def forward(ctx: DropoutContext, states: Tensor, mask: Mask) -> Tensor:
        ctx.mask = mask
        return _dropped_on_card(states, mask)

    @staticmethod
    def backward(ctx: DropoutContext, slope: Tensor) -> tuple[Tensor, None]:
        return _dropped_on_card(slope, ctx.mask), None


def dropout_on_card(states: Float[Tensor, "*axes"], mask: Mask) -> Float[Tensor, "*axes"]:
    """The states with the elements of `mask` zeroed and the rest scaled by 1 / (1 - p)."""
    outputs: Tensor = _CardDropout.apply(states, mask)
    return outputs


def _dropped_on_card(states: Tensor, mask: Mask) -> Tensor:
    states = states.contiguous()
    outputs = torch.empty_like(states)
    count = states.numel()
    if count:
        with torch.cuda.device_of(states):
            _drop[(triton.cdiv(count, DROPOUT_BLOCK),)](
                states, outputs, count, *mask_numbers(mask), size=DROPOUT_BLOCK,
                held=isinstance(mask.seed, Tensor),
            )  # fmt: skip
    return outputs


def mask_numbers(mask: Mask | None) -> tuple[int, int | Tensor, float]:
    """A mask as the kernels take it: its threshold, its seed and the factor of what stays."""
    if mask is None:
        return 0, 0, 1.0
    seed = mask.seed if isinstance(mask.seed, Tensor) else signed(mask.seed)
    return signed(mask.threshold), seed, 1.0 / (1.0 - mask.p)


def signed(word: int) -> int:
    """32 bits as a signed number: Triton compiles a kernel for each width of its arguments."""
    return word - (1 << 32) if word >> 31 else word
