"""Differential attention against Hugging Face's DiffLlama, and what observers and gates get."""

import math

import pytest
import torch
from transformers import DiffLlamaConfig
from transformers.models.diffllama.modeling_diffllama import DiffLlamaAttention

from jumok.attention.interfaces import HeadParts
from jumok.attention.masks import AttentionMask
from jumok.attention.observe import Attention, observe
from jumok.attention.role import Role
from jumok.attention.variants.differential import DifferentialAttention
from jumok.config.causal import CausalConfig
from jumok.kernels.noise import Noise
from jumok.specs import AttentionSizes
from tests.attention.variants.huggingface import at_no_position, copy_projections
from tests.parity.torch_weights import roughen

DIM, HEADS, KV_HEADS, HEAD_DIM, LAYER = 18, 6, 2, 8, 3


def both() -> tuple[DifferentialAttention, DiffLlamaAttention]:
    torch.manual_seed(1)
    config = DiffLlamaConfig(
        hidden_size=DIM,
        num_attention_heads=HEADS,
        num_key_value_heads=KV_HEADS,
        head_dim=HEAD_DIM,
        rms_norm_eps=1e-5,
        attn_implementation="eager",
    )
    theirs = roughen(DiffLlamaAttention(config, LAYER)).eval()
    sizes = AttentionSizes(DIM, HEADS, KV_HEADS, HEAD_DIM, HEAD_DIM, bias=False, output_bias=False)
    ours = DifferentialAttention.of(sizes, HeadParts(), Noise(), 0.0, Role("decoder", LAYER))
    copy_projections(ours, theirs)
    names = ("lambda_q1", "lambda_k1", "lambda_q2", "lambda_k2")
    with torch.no_grad():
        ours.vectors.copy_(torch.cat([getattr(theirs, name) for name in names]))
    return ours.eval(), theirs


def test_the_difference_is_that_of_diffllama():
    ours, theirs = both()
    states = torch.randn(2, 7, DIM)
    allowed = AttentionMask(causal=True)
    drawn = allowed.draw(7, 7, states.device)
    expected, weights = theirs(states, *at_no_position(states, HEAD_DIM, drawn))
    torch.testing.assert_close(ours(states, states, allowed), expected, atol=1e-5, rtol=0)
    heard: list[Attention] = []
    with observe(ours, lambda _, attention: heard.append(attention)):
        watched = ours(states, states, allowed)
    torch.testing.assert_close(watched, expected, atol=1e-5, rtol=0)
    torch.testing.assert_close(heard[0].weights, weights, atol=1e-6, rtol=0)


def test_factors_and_maps_give_the_output():
    """What observers get is enough to compute it: sum of factor x weights x value, normalised."""
    ours, _ = both()
    states, heard = torch.randn(2, 5, DIM), []
    with observe(ours, lambda _, attention: heard.append(attention)):
        found = ours(states, states)
    (seen,) = heard
    assert seen.factors[:3].tolist() == [1, 1, 1]
    assert seen.factors[3:].tolist() == pytest.approx([-float(ours.subtracted.detach())] * 3)
    signed = seen.factors[None, :, None, None] * (seen.weights @ seen.value)
    difference = signed[:, :3] + signed[:, 3:]  # (batch pairs query 2*value_dim)
    length = difference.square().mean(-1, keepdim=True).add(1e-5).sqrt()
    start = 0.8 - 0.6 * 2.718281828 ** (-0.3 * LAYER)
    mixed = ((1 - start) * difference / length).transpose(1, 2).flatten(2)
    torch.testing.assert_close(ours.output(mixed), found, atol=1e-5, rtol=0)


def test_a_gate_of_zero_takes_the_subtracted_map_away():
    ours, _ = both()
    states = torch.randn(2, 5, DIM)
    ours.gate = torch.tensor([1.0, 1.0, 1.0, 0.0, 0.0, 0.0])
    alone = ours(states, states)
    ours.gate = None
    assert not torch.allclose(ours(states, states), alone, atol=1e-3)
    with torch.no_grad():  # exp(-100) - exp(x) + start = 0: nothing is subtracted
        ours.vectors.zero_()
        one_q, one_k, two_q, two_k = ours.vectors.view(4, HEAD_DIM)
        one_q[0], one_k[0] = -10.0, 10.0
        two_q[0], two_k[0] = abs(math.log(ours.start)) ** 0.5, -(abs(math.log(ours.start)) ** 0.5)
    torch.testing.assert_close(ours(states, states), alone, atol=1e-5, rtol=0)


def test_what_it_cannot_be_combined_with_is_said():
    for keys, said in (
        ({"process_output": ("head-gate",)}, 'attention_kind = "differential" has no process_outp'),
        ({"heads": 3, "dim": 12}, 'attention_kind = "differential" needs an even number of heads'),
    ):
        with pytest.raises(ValueError, match=said):
            CausalConfig(attention_kind="differential", **keys)
