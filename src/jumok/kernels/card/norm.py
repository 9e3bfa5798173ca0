"""Residual connection, dropout and norm on a GPU, in one pass each way.

The readable twin is `jumok.kernels.residual.add_norm_plainly`. The gradients of gain and bias are
sums over all rows; each program adds up those of its own, so they always have the same order.
"""

import torch
import triton
import triton.language as tl

from jumok.kernels.card.dropout import mask_numbers, stays
from jumok.kernels.context import Context
from jumok.kernels.noise import DropoutMask
from jumok.shapes import States, Tensor

WIDEST_ROW = 4096
"""Elements of a row that one program holds."""
AT_ONCE = 2048
"""Elements of several rows that a program of the backward pass reads at once."""
PROGRAMS = 528
"""At most so many compute a backward pass: four for each of the 132 multiprocessors of an H100."""


@triton.jit
def _norm_forward(  # type: ignore[no-untyped-def]
    stream, update, gain, bias, total, normed, mean, rate, dim, epsilon, threshold, seed, scale,
    size: tl.constexpr, drops: tl.constexpr, held: tl.constexpr, layered: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    column = tl.arange(0, size)
    inside = column < dim
    place = row * dim + column
    value = tl.load(stream + place, mask=inside)
    more = tl.load(update + place, mask=inside).to(tl.float32)
    if held:
        seed = tl.load(seed)
    if drops:
        more = tl.where(stays(place, threshold, seed), more * scale, 0.0)
    rounded = (value.to(tl.float32) + more).to(value.dtype)
    tl.store(total + place, rounded, mask=inside)
    state = tl.where(inside, rounded.to(tl.float32), 0.0)
    if layered:
        middle = tl.sum(state, axis=0) / dim
        tl.store(mean + row, middle)
        state = tl.where(inside, state - middle, 0.0)
    inverse = 1.0 / tl.sqrt(tl.sum(state * state, axis=0) / dim + epsilon)
    tl.store(rate + row, inverse)
    scaled = state * inverse * tl.load(gain + column, mask=inside).to(tl.float32)
    if layered:
        scaled += tl.load(bias + column, mask=inside).to(tl.float32)
    tl.store(normed + place, scaled.to(value.dtype), mask=inside)


@triton.jit
def _norm_backward(  # type: ignore[no-untyped-def]
    total, mean, rate, gain, d_total, d_normed, d_stream, d_update, d_gain, d_bias,
    rows, dim, threshold, seed, scale, each: tl.constexpr, height: tl.constexpr,
    size: tl.constexpr, drops: tl.constexpr, held: tl.constexpr, layered: tl.constexpr,
    passes_on: tl.constexpr,
):  # fmt: skip
    program = tl.program_id(0)
    column = tl.arange(0, size)[None, :]
    inside = column < dim
    factor = tl.where(inside, tl.load(gain + column, mask=inside).to(tl.float32), 0.0)
    of_gain = tl.zeros([height, size], tl.float32)
    of_bias = tl.zeros([height, size], tl.float32)
    if held:
        seed = tl.load(seed)
    for number in range(0, each, height):
        row = (program * each + number + tl.arange(0, height)).to(tl.int64)[:, None]
        place = row * dim + column
        here = inside & (row < rows)
        value = tl.load(total + place, mask=here)
        state = value.to(tl.float32)
        inverse = tl.load(rate + row, mask=row < rows)
        if layered:
            state = state - tl.load(mean + row, mask=row < rows)
        unit = tl.where(here, state * inverse, 0.0)
        slope = tl.where(here, tl.load(d_normed + place, mask=here).to(tl.float32), 0.0)
        of_gain += slope * unit
        wide = slope * factor
        back = wide - unit * (tl.sum(unit * wide, axis=1) / dim)[:, None]
        if layered:
            of_bias += slope
            back -= (tl.sum(wide, axis=1) / dim)[:, None]
        back *= inverse
        if passes_on:
            back += tl.load(d_total + place, mask=here).to(tl.float32)
        tl.store(d_stream + place, back.to(value.dtype), mask=here)
        if drops:
            dropped = tl.where(stays(place, threshold, seed), back * scale, 0.0)
            tl.store(d_update + place, dropped.to(value.dtype), mask=here)
    own = program * dim + tl.arange(0, size)
    is_own = tl.arange(0, size) < dim
    tl.store(d_gain + own, tl.sum(of_gain, axis=0), mask=is_own)
    if layered:
        tl.store(d_bias + own, tl.sum(of_bias, axis=0), mask=is_own)


def add_norm_on_card(
    stream: States,
    update: States,
    gain: Tensor,
    bias: Tensor | None,
    epsilon: float,
    drop: DropoutMask | None,
) -> tuple[States, States]:
    """(s, norm(s)) with s = stream + dropout(update); without a bias the RMS norm."""
    total, normed = _CardAddNorm.apply(stream, update, gain, bias, epsilon, drop)
    return total, normed


class _CardAddNorm(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Context,
        stream: Tensor,
        update: Tensor,
        gain: Tensor,
        bias: Tensor | None,
        epsilon: float,
        drop: DropoutMask | None,
    ) -> tuple[Tensor, Tensor]:
        stream, update = stream.contiguous(), update.contiguous()
        dim = stream.shape[-1]
        rows = stream.numel() // dim
        total, normed = torch.empty_like(stream), torch.empty_like(stream)
        mean, rate = torch.empty(2, rows, dtype=torch.float32, device=stream.device)
        if rows:
            with torch.cuda.device_of(stream):
                _norm_forward[(rows,)](
                    stream, update, gain, gain if bias is None else bias, total, normed, mean,
                    rate, dim, epsilon, *mask_numbers(drop), **sizes(dim, drop, bias is not None),
                )  # fmt: skip
        ctx.save_for_backward(total, mean, rate, gain)
        ctx.drop, ctx.biased = drop, bias is not None
        ctx.set_materialize_grads(False)  # post-norm drops `total`: no zeros for its gradient
        return total, normed

    @staticmethod
    def backward(
        ctx: Context, d_total: Tensor | None, d_normed: Tensor | None
    ) -> tuple[Tensor | None, ...]:
        total, mean, rate, gain = ctx.saved_tensors
        dim, rows, drop = total.shape[-1], mean.numel(), ctx.drop
        d_normed = torch.zeros_like(total) if d_normed is None else d_normed.contiguous()
        passes_on = d_total is not None
        d_total = d_normed if d_total is None else d_total.contiguous()
        d_stream = torch.empty_like(total)
        d_update = d_stream if drop is None else torch.empty_like(total)
        height = max(1, AT_ONCE // triton.next_power_of_2(dim))
        each = max(height, triton.next_power_of_2(max(1, triton.cdiv(rows, PROGRAMS))))
        programs = triton.cdiv(rows, each)
        sums = total.new_empty(2 if ctx.biased else 1, programs, dim, dtype=torch.float32)
        if rows:
            with torch.cuda.device_of(total):
                _norm_backward[(programs,)](
                    total, mean, rate, gain, d_total, d_normed, d_stream, d_update, sums[0],
                    sums[-1], rows, dim, *mask_numbers(drop), each=each, height=height,
                    passes_on=passes_on, **sizes(dim, drop, ctx.biased),
                )  # fmt: skip
        d_gain, *d_bias = sums.sum(dim=1).to(gain.dtype)
        return d_stream, d_update, d_gain, d_bias[0] if ctx.biased else None, None, None


def sizes(dim: int, drop: DropoutMask | None, layered: bool) -> dict[str, int | bool]:
    """What the kernels are compiled for."""
    size = triton.next_power_of_2(dim)
    held = drop is not None and isinstance(drop.seed, Tensor)
    known = {"size": size, "drops": drop is not None, "held": held, "layered": layered}
    return known | {"num_warps": 4 if size <= 1024 else 8}
