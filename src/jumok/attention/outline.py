"""Attention on the meta device, which has shapes and no numbers: what GPUs multiply and keep.

Fused kernels keep queries, keys, values, outputs and the sum of each row, and compute the weights
again for the backward pass, which is not counted. They leave out keys beyond a window or of other
documents. `jumok plan` counts both (`planning/products.py`).
"""

import torch
import torch.nn.functional as F

from jumok.attention.masks import AttentionMask
from jumok.kernels.context import Context
from jumok.shapes import Float, Tensor


def attend(
    query: Float[Tensor, "batch heads query dim"],
    key: Float[Tensor, "batch kv_heads key dim"],
    value: Float[Tensor, "batch kv_heads key value_dim"],
    mask: AttentionMask | None = None,
    bias: Float[Tensor, "#batch #heads #query key"] | None = None,
) -> Float[Tensor, "batch heads query value_dim"]:
    """The shape of the weighted sums; the arguments are those of `core.attend`."""
    if key.shape[1] != query.shape[1] and key.shape[3] != value.shape[3]:
        # no kernel of torch serves these: heads are copied, and the weights kept
        return F.scaled_dot_product_attention(query, key, value, enable_gqa=True)
    keys = key.shape[2]
    seen = keys if mask is None or bias is not None else mask.most_keys(keys)
    return _Fused.apply(query, key[:, :, :seen], value[:, :, :seen])


class _Fused(torch.autograd.Function):
    """(Q K^T) V."""

    @staticmethod
    def forward(ctx: Context, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        asked = query.unflatten(1, (key.shape[1], -1))  # batch kv_heads group query dim
        found = ((asked @ key[:, :, None].mT) @ value[:, :, None]).flatten(1, 2)
        if query.transpose(1, 2).is_contiguous():  # outputs are laid out as queries
            found = found.transpose(1, 2).contiguous().transpose(1, 2)
        sums = query.new_empty(query.shape[:3])
        ctx.save_for_backward(query, key, value, found, sums)
        return found

    @staticmethod
    def backward(ctx: Context, d_found: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        query, key, value, *_ = ctx.saved_tensors
        asked, d_found = (each.unflatten(1, (key.shape[1], -1)) for each in (query, d_found))
        d_weights = d_found @ value[:, :, None].mT
        for left, right in (
            (d_weights.mT, d_found),  # the gradient of the values
            (d_weights, key[:, :, None]),  # of the queries
            (d_weights.mT, asked),  # of the keys
        ):
            torch.matmul(left, right)
        return torch.empty_like(query), torch.empty_like(key), torch.empty_like(value)
