"""The whole model against torch.nn.Transformer with the same weights."""

import math

import pytest
import torch
from torch import nn

from jumok.config import TransformerConfig
from jumok.models.encoder_decoder import Transformer
from jumok.positions.sinusoidal import sinusoids
from tests.parity.torch_weights import copy_block, residuals, roughen

SOURCE = torch.tensor([[5, 6, 7, 8, 9, 10, 3], [11, 12, 13, 3, 0, 0, 0]])
ALLOWED = SOURCE != 0
TARGET = torch.tensor([[2, 21, 22, 23, 24], [2, 25, 26, 27, 28]])


def twins(dim: int, heads: int, norm: str, activation: str) -> tuple[Transformer, nn.Transformer]:
    """Our model, and torch's stacks, which know nothing of embeddings and logits."""
    torch.manual_seed(1)
    config = TransformerConfig(
        dim=dim,
        heads=heads,
        encoder_layers=2,
        decoder_layers=3,
        feedforward=29,
        norm=norm,
        activation=activation,
        tied="none",
    )
    ours = roughen(Transformer(config, 31))
    theirs = roughen(
        nn.Transformer(
            dim, heads, 2, 3, 29, 0.0, activation, batch_first=True, norm_first=norm == "pre"
        )
    )
    for part, stack in ((ours.encoder, theirs.encoder), (ours.decoder, theirs.decoder)):
        norms = []
        for block, layer in zip(part.blocks, stack.layers, strict=True):
            norms += copy_block(block, layer)
        if norm == "pre":
            part.first_norm, *norms = [*norms, stack.norm]
        else:
            stack.norm = None  # torch adds one more norm above post-norm stacks; the paper does not
        for after, layer_norm in zip(residuals(part.blocks), norms, strict=True):
            after.norm = layer_norm
    return ours.eval(), theirs


def embedded(table: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
    dim = table.shape[1]
    return table[tokens] * math.sqrt(dim) + sinusoids(tokens.shape[1], dim)


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")  # torch's shortcut, which is not taken
@pytest.mark.parametrize(("dim", "heads"), [(15, 3), (48, 3)])  # in torch, and in C
@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_logits_are_torchs(dim, heads, norm, activation):
    ours, theirs = twins(dim, heads, norm, activation)
    states = theirs(
        embedded(ours.encoder.embedding.table, SOURCE),
        embedded(ours.decoder.embedding.table, TARGET),
        tgt_mask=nn.Transformer.generate_square_subsequent_mask(5),
        src_key_padding_mask=~ALLOWED,
        memory_key_padding_mask=~ALLOWED,
    )
    expected = states @ ours.decoder.output.weight.t()
    found = ours.decoder(ours.encode(SOURCE, ALLOWED), TARGET)
    torch.testing.assert_close(found, expected, atol=2e-5, rtol=0)
