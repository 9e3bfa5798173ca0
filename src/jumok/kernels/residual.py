"""Residual connection, dropout and a norm in one pass: the layer norm or the RMS norm."""

from typing import TypeGuard

import torch
from torch import nn

from jumok.kernels import native
from jumok.kernels.card import serving
from jumok.kernels.context import Context
from jumok.kernels.noise import DropoutMask
from jumok.kernels.plain import is_unpatched
from jumok.shapes import States, Tensor

KnownNorm = nn.LayerNorm | nn.RMSNorm


def knows(norm: object) -> TypeGuard[KnownNorm]:
    """Whether `add_norm` does what a call of this norm would do."""
    if isinstance(norm, nn.LayerNorm):
        return (
            is_unpatched(norm, nn.LayerNorm) and norm.weight is not None and norm.bias is not None
        )
    if isinstance(norm, nn.RMSNorm):
        return is_unpatched(norm, nn.RMSNorm) and norm.weight is not None and norm.eps is not None
    return False


def add_norm(
    stream: States, update: States, norm: KnownNorm, drop: DropoutMask | None
) -> tuple[States, States]:
    """(s, norm(s)) with s = stream + dropout(update)."""
    bias, epsilon = norm.bias if isinstance(norm, nn.LayerNorm) else None, norm.eps
    assert epsilon is not None, "the kernel knows it"
    if stream.shape[-1] % native.LANES == 0 and native.serves(stream, update, norm.weight):
        return _AddNorm.apply(stream, update, norm.weight, bias, epsilon, drop)
    if serving.serves(stream):
        from jumok.kernels.card import norm as card

        if stream.shape[-1] <= card.WIDEST_ROW:
            return card.add_norm_on_card(stream, update, norm.weight, bias, epsilon, drop)
    return add_norm_plainly(stream, update, norm, drop)


def add_norm_plainly(
    stream: States, update: States, norm: KnownNorm, drop: DropoutMask | None
) -> tuple[States, States]:
    """The readable twin of `add_norm`."""
    total = stream + (update if drop is None else drop.apply(update))
    return total, norm(total)


class _AddNorm(torch.autograd.Function):
    """The layer norm; without a bias the RMS norm."""

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
        mean, rate = torch.empty(2, rows)
        native.call(
            "add_norm_forward", stream.dtype, stream, update, gain, bias, total, normed,
            mean, rate, rows, dim, int(bias is not None), epsilon, *native.numbers(drop),
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
        dim = total.shape[-1]
        d_normed = torch.zeros_like(total) if d_normed is None else d_normed.contiguous()
        d_total = None if d_total is None else d_total.contiguous()
        d_stream = torch.empty_like(total)
        d_update = None if ctx.drop is None else torch.empty_like(total)
        d_gain, d_bias = torch.zeros(dim), torch.zeros(dim) if ctx.biased else None
        native.call(
            "add_norm_backward", total.dtype, total, mean, rate, gain, d_total, d_normed,
            d_stream, d_update, d_gain, d_bias, mean.numel(), dim, int(ctx.biased),
            *native.numbers(ctx.drop),
        )  # fmt: skip
        return (
            d_stream, d_stream if d_update is None else d_update,
            d_gain.to(gain.dtype), None if d_bias is None else d_bias.to(gain.dtype), None, None,
        )  # fmt: skip
