"""The same weights in torch's modules and in ours."""

from typing import TypeVar

import torch
from torch import nn

from jumok.attention.multihead import MultiHeadAttention
from jumok.layers.block import Block, Stack

Module = TypeVar("Module", bound=nn.Module)


def roughen(module: Module) -> Module:
    """Moves every weight at random: no gain of one, no bias of zero hides a mistake."""
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.1)
    return module


@torch.no_grad()
def copy_attention(ours: MultiHeadAttention, theirs: nn.MultiheadAttention) -> None:
    """torch keeps the three projections in one matrix."""
    parts = (ours.query, ours.key, ours.value)
    weights, biases = theirs.in_proj_weight.chunk(3), theirs.in_proj_bias.chunk(3)
    for part, weight, bias in zip(parts, weights, biases, strict=True):
        part.weight.copy_(weight)
        part.bias.copy_(bias)
    copy_linear(ours.output, theirs.out_proj)


@torch.no_grad()
def copy_linear(ours: nn.Linear, theirs: nn.Linear) -> None:
    ours.weight.copy_(theirs.weight)
    ours.bias.copy_(theirs.bias)


def copy_block(
    ours: Block, theirs: nn.TransformerEncoderLayer | nn.TransformerDecoderLayer
) -> list[nn.LayerNorm]:
    """Copies all but the norms, which are given back in order: who comes after whom differs."""
    copy_attention(ours.self_attention, theirs.self_attn)
    copy_linear(ours.feedforward.inner, theirs.linear1)
    copy_linear(ours.feedforward.outer, theirs.linear2)
    if not isinstance(theirs, nn.TransformerDecoderLayer):
        return [theirs.norm1, theirs.norm2]
    copy_attention(ours.cross_attention, theirs.multihead_attn)
    return [theirs.norm1, theirs.norm2, theirs.norm3]


def residuals(stack: Stack) -> list[nn.Module]:
    """What follows each part of each block, from the first to the last."""
    return [
        after
        for block in stack
        for after in (block.after_self, block.after_cross, block.after_feedforward)
        if not isinstance(after, nn.Identity)
    ]
