"""Rows of a table, whose gradient is added to those rows alone.

torch fills a gradient of the whole table with zeros for each micro-batch and each side, and adds
all of it to what the others gave.
"""

import torch
import torch.nn.functional as F

from jumok.kernels import native
from jumok.kernels.context import Context
from jumok.kernels.training.gradients import adds_up
from jumok.shapes import Float, Int, Tensor


def embedded(
    tokens: Int[Tensor, "*axes"], table: Float[Tensor, "vocabulary dim"], scale: float
) -> Float[Tensor, "*axes dim"]:
    """The row of each token, times `scale`."""
    if (
        torch.is_grad_enabled()
        and table.requires_grad
        and table.shape[1] % native.LANES == 0
        and native.serves(table)
    ):
        states: Tensor = _Embedded.apply(tokens, table, scale)
        return states
    return embedded_plainly(tokens, table, scale)


def embedded_plainly(
    tokens: Int[Tensor, "*axes"], table: Float[Tensor, "vocabulary dim"], scale: float
) -> Float[Tensor, "*axes dim"]:
    """The readable twin of `embedded`."""
    return F.embedding(tokens, table) * scale


class _Embedded(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Context, tokens: Tensor, table: Tensor, scale: float) -> Tensor:
        ctx.save_for_backward(tokens)
        ctx.table, ctx.scale, ctx.adding = table, scale, adds_up(table)
        return embedded_plainly(tokens, table, scale)

    @staticmethod
    def backward(ctx: Context, slope: Tensor) -> tuple[None, Tensor | None, None]:
        [tokens], table = ctx.saved_tensors, ctx.table
        gradient = table.grad if ctx.adding else slope.new_zeros(table.shape)
        assert gradient is not None
        sizes = tokens.numel(), table.shape[1]
        rows = tokens.long().contiguous(), slope.contiguous()
        native.call("add_rows", slope.dtype, *rows, gradient, *sizes, ctx.scale)
        return None, None if ctx.adding else gradient, None
