"""Rotary positions and ALiBi against Hugging Face's GPT-J and BLOOM."""

import pytest
import torch

from jumok.positions.alibi import AlibiPositions
from jumok.positions.rotary import RotaryPositions

pytest.importorskip("transformers")
from transformers.models.bloom.modeling_bloom import build_alibi_tensor
from transformers.models.gptj.modeling_gptj import (
    apply_rotary_pos_emb,
    create_sinusoidal_positions,
)


def test_rotations_are_those_of_gpt_j() -> None:
    torch.manual_seed(1)
    states = torch.randn(2, 3, 50, 10)  # batch heads length dim; GPT-J has length before heads
    sine, cosine = create_sinusoidal_positions(60, 10)[7:57].chunk(2, dim=-1)
    theirs = apply_rotary_pos_emb(states.transpose(1, 2), sine[None], cosine[None])
    found = RotaryPositions(10)(states, position=7)
    torch.testing.assert_close(found, theirs.transpose(1, 2), atol=1e-5, rtol=0)


@pytest.mark.parametrize("heads", [4, 6, 16])
def test_a_look_back_costs_what_it_costs_in_bloom(heads: int) -> None:
    """BLOOM adds m j for m (j - i): softmax sees no difference, which is the same for a row."""
    length = 13
    theirs = build_alibi_tensor(torch.ones(1, length), heads, torch.float32)
    states = torch.zeros(1, heads, length, 8)
    found = AlibiPositions(heads)(states, states, 0)[0]
    for row in range(length):
        ours = found[:, row, : row + 1]
        expected = theirs.view(heads, length)[:, : row + 1]
        torch.testing.assert_close(ours - ours[:, :1], expected - expected[:, :1])
