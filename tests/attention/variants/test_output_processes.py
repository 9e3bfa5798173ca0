"""Gates of the heads' outputs, against Hugging Face's Qwen3-Next and by hand; and factors."""

import math

import torch
from transformers import Qwen3NextConfig
from transformers.models.qwen3_next.modeling_qwen3_next import Qwen3NextAttention

from jumok.attention.interfaces import HeadParts
from jumok.attention.masks import AttentionMask
from jumok.attention.multihead import MultiHeadAttention
from jumok.attention.qk_norm import QueryKeyNorm
from jumok.attention.variants.output_processes import ElementGate, HeadGate, HeadScale
from jumok.kernels.noise import Noise
from tests.attention.variants.huggingface import at_no_position
from tests.parity.torch_weights import roughen

DIM, HEADS, KV_HEADS, HEAD_DIM = 13, 6, 2, 8


@torch.no_grad()
def test_element_gates_are_those_of_qwen():
    """Theirs is half of the projection of queries, head by head; its norms have gains of 1 + w."""
    torch.manual_seed(1)
    config = Qwen3NextConfig(
        hidden_size=DIM,
        num_attention_heads=HEADS,
        num_key_value_heads=KV_HEADS,
        head_dim=HEAD_DIM,
        rms_norm_eps=1e-6,
        num_hidden_layers=1,
        attn_implementation="eager",
    )
    theirs, gate = roughen(Qwen3NextAttention(config, 0)).eval(), ElementGate(HEADS, HEAD_DIM, DIM)
    norms = [QueryKeyNorm(HEAD_DIM, 1e-6) for _ in range(2)]
    parts = HeadParts(None, norms[:1], norms[1:], [gate])
    ours = MultiHeadAttention(DIM, HEADS, HEAD_DIM, HEAD_DIM, Noise(), 0.0, KV_HEADS, False, parts)
    query, gates = theirs.q_proj.weight.unflatten(0, (HEADS, 2, HEAD_DIM)).unbind(1)
    ours.query.weight.copy_(query.flatten(0, 1))
    gate.weight.copy_(gates.flatten(0, 1))
    for mine, other in ((ours.key, theirs.k_proj), (ours.value, theirs.v_proj)):
        mine.weight.copy_(other.weight)
    ours.output.weight.copy_(theirs.o_proj.weight)
    for norm, other in zip(norms, (theirs.q_norm, theirs.k_norm), strict=True):
        norm.weight.copy_(1 + other.weight)
    states = torch.randn(2, 7, DIM)
    allowed = AttentionMask(causal=True)
    drawn = allowed.draw(7, 7, states.device)
    expected, _ = theirs(states, *at_no_position(states, HEAD_DIM, drawn))
    torch.testing.assert_close(ours(states, states, allowed), expected, atol=1e-5, rtol=0)


def test_a_head_is_closed_for_one_position_by_hand():
    """W x = 0, log 3 and -1000: gates of 1/2, 3/4 and 0 on the heads' ones."""
    gate = HeadGate(3, 5, 1)
    with torch.no_grad():
        gate.weight.copy_(torch.tensor([[0.0], [math.log(3.0)], [-1e3]]))
    found = gate(torch.ones(2, 3, 7, 5), torch.ones(2, 7, 1))
    expected = torch.tensor([0.5, 0.75, 0.0])[None, :, None, None].expand(2, 3, 7, 5)
    torch.testing.assert_close(found, expected)
    other = gate(torch.ones(2, 3, 7, 5), torch.zeros(2, 7, 1))
    torch.testing.assert_close(other, torch.full((2, 3, 7, 5), 0.5))


def test_a_factor_multiplies_its_head_before_the_heads_are_mixed():
    """It may as well multiply the head's columns of the output projection."""
    torch.manual_seed(1)
    scale = HeadScale(3, 5)
    attention = roughen(
        MultiHeadAttention(13, 3, 8, 5, Noise(), parts=HeadParts(process_output=[scale]))
    )
    states = torch.randn(2, 7, 13)
    found = attention(states, states)
    gains = scale.gain.detach().clone()
    with torch.no_grad():
        scale.gain.fill_(1.0)
        assert not torch.allclose(attention(states, states), found, atol=1e-3)
        attention.output.weight.mul_(gains.repeat_interleave(5))
    torch.testing.assert_close(attention(states, states), found, atol=1e-5, rtol=0)


def test_factors_start_as_if_it_were_not_there():
    found = torch.randn(2, 3, 7, 5)
    assert torch.equal(HeadScale(3, 5)(found, torch.randn(2, 7, 13)), found)
