"""Dropout on a GPU, in one pass: each element's hash is computed where the element is read.

The readable twin is `DropoutMask.apply_plainly`, whose hashes are tensors of int64: 8 bytes an
element, written and read six times.
"""

import torch
import triton
import triton.language as tl

from jumok.kernels.context import Context
from jumok.kernels.noise import DropoutMask
from jumok.shapes import Float, Tensor

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
    def forward(ctx: Context, states: Tensor, drop: DropoutMask) -> Tensor:
        ctx.drop = drop
        return _dropped(states, drop)

    @staticmethod
    def backward(ctx: Context, slope: Tensor) -> tuple[Tensor, None]:
        assert ctx.drop is not None
        return _dropped(slope, ctx.drop), None


def dropout(states: Float[Tensor, "*axes"], drop: DropoutMask) -> Float[Tensor, "*axes"]:
    """The states with the elements of `drop` zeroed and the rest scaled by 1 / (1 - p)."""
    found: Tensor = _Dropout.apply(states, drop)
    return found


def _dropped(states: Tensor, drop: DropoutMask) -> Tensor:
    states = states.contiguous()
    found = torch.empty_like(states)
    count = states.numel()
    if count:
        with torch.cuda.device_of(states):
            _drop[(triton.cdiv(count, BLOCK),)](
                states, found, count, *numbers(drop), size=BLOCK,
                held=isinstance(drop.seed, Tensor),
            )  # fmt: skip
    return found


def numbers(drop: DropoutMask | None) -> tuple[int, int | Tensor, float]:
    """A mask as the kernels take it: its threshold, its seed and the factor of what stays."""
    if drop is None:
        return 0, 0, 1.0
    seed = drop.seed if isinstance(drop.seed, Tensor) else signed(drop.seed)
    return signed(drop.threshold), seed, 1.0 / (1.0 - drop.p)


def signed(word: int) -> int:
    """32 bits as a signed number: Triton compiles a kernel for each width of its arguments."""
    return word - (1 << 32) if word >> 31 else word
