"""Blocks against torch's layers with the same weights, gradients too."""

import pytest
import torch
from torch import nn

from jumok.attention.masks import AttentionMask, mask_of_keys
from jumok.layers.block import Block
from jumok.layers.residual import PostNorm, PreNorm
from tests.kernels.twins import assert_same_gradients
from tests.layers.parts import block, torch_layer
from tests.parity.torch_weights import copy_block, roughen

SIZES = [(15, 3), (48, 3)]  # in torch, and in C
KINDS = [(PreNorm, "relu"), (PreNorm, "gelu"), (PostNorm, "relu"), (PostNorm, "gelu")]
every_block = pytest.mark.parametrize(
    ("dim", "heads", "norm", "activation"),
    [(*size, *kind) for size in SIZES for kind in KINDS],
    ids=lambda value: value.__name__ if isinstance(value, type) else str(value),
)

SOURCE_REAL = torch.arange(7) < torch.tensor([[7], [4]])


def twins(dim, heads, norm, activation, cross) -> tuple[Block, nn.Module]:
    torch.manual_seed(1)
    theirs = roughen(torch_layer(dim, heads, norm, activation, cross))
    return block(dim, heads, norm, activation, cross), theirs


def put_norms(ours: Block, norms: list[nn.LayerNorm], norm: type[PreNorm]) -> nn.Module:
    """Puts torch's norms where they belong; gives the one that stands before the block.

    Ours follow the parts. Pre-norm's first one therefore stands before the block, and what
    follows its last part belongs to the next block.
    """
    after = [ours.after_self, ours.after_cross, ours.after_feedforward]
    after = [part for part in after if isinstance(part, PreNorm)]
    first: nn.Module = nn.Identity()
    if norm is PreNorm:
        first, *norms = norms
    for part, layer_norm in zip(after, norms, strict=False):
        part.norm = layer_norm
    return first


def assert_same(ours: torch.Tensor, theirs: torch.Tensor, inputs: list[torch.Tensor]) -> None:
    torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=0)
    assert_same_gradients(ours, theirs, inputs, atol=2e-5)


@every_block
def test_encoder_block_is_torchs(dim, heads, norm, activation):
    ours, theirs = twins(dim, heads, norm, activation, cross=False)
    first = put_norms(ours, copy_block(ours, theirs), norm)
    states = torch.randn(2, 7, dim).requires_grad_()
    stream, _ = ours(states, first(states), mask_of_keys(SOURCE_REAL))
    assert_same(stream, theirs(states, src_key_padding_mask=~SOURCE_REAL), [states])


@every_block
def test_decoder_block_is_torchs(dim, heads, norm, activation):
    ours, theirs = twins(dim, heads, norm, activation, cross=True)
    first = put_norms(ours, copy_block(ours, theirs), norm)
    states, memory = (
        torch.randn(2, 5, dim).requires_grad_(),
        torch.randn(2, 7, dim).requires_grad_(),
    )
    allowed = AttentionMask(causal=True)
    stream, _ = ours(states, first(states), allowed, memory, mask_of_keys(SOURCE_REAL))
    expected = theirs(
        states,
        memory,
        tgt_mask=~allowed.draw(5, 5, states.device)[0, 0],  # True hides in torch
        memory_key_padding_mask=~SOURCE_REAL,
    )
    assert_same(stream, expected, [states, memory])


@every_block
def test_steps_of_a_block_are_its_forward(dim, heads, norm, activation):
    torch.manual_seed(1)
    ours = roughen(block(dim, heads, norm, activation, cross=True))
    (stream, normed), memory = torch.randn(2, 2, 5, dim), torch.randn(2, 7, dim)
    real = mask_of_keys(SOURCE_REAL)
    with torch.no_grad():
        expected = ours(stream, normed, AttentionMask(causal=True), memory, real)
        state = ours.start(memory)
        steps = [
            ours(stream[:, t : t + 1], normed[:, t : t + 1], None, None, real, state)
            for t in range(5)
        ]
    for found, whole in zip(zip(*steps, strict=True), expected, strict=True):
        torch.testing.assert_close(torch.cat(found, 1), whole, atol=1e-5, rtol=0)


def test_block_without_cross_attention_has_no_memory_to_project():
    ours = block(15, 3, PreNorm, "relu", cross=False)
    assert ours.start(None).memory is None
    state = ours.start(None)
    stream, normed = torch.randn(2, 2, 1, 15)
    step = ours(stream, normed, None, state=state)
    torch.testing.assert_close(step, ours(stream, normed, None))
