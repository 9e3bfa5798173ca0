"""Soft caps of scores and of logits, against Hugging Face's Gemma 2 and by hand."""

import math

import pytest
import torch
from transformers import Gemma2Config
from transformers.models.gemma2.modeling_gemma2 import Gemma2Attention

from jumok.attention.interfaces import HeadParts
from jumok.attention.masks import AttentionMask
from jumok.attention.multihead import MultiHeadAttention
from jumok.attention.observe import Attention, observe
from jumok.attention.scores import ScaledDotScore
from jumok.attention.variants.soft_cap import SoftCapScore
from jumok.config.causal import CausalConfig
from jumok.kernels.cross_entropy import (
    consistent_cross_entropy,
    consistent_cross_entropy_plainly,
    smoothed_cross_entropy,
    smoothed_cross_entropy_plainly,
)
from jumok.kernels.linear import Projection
from jumok.kernels.noise import Noise
from jumok.models.causal import CausalLanguageModel
from tests.attention.variants.huggingface import at_no_position, copy_projections
from tests.kernels.twins import assert_twins
from tests.parity.torch_weights import roughen

DIM, HEADS, KV_HEADS, HEAD_DIM, CAP = 18, 6, 2, 8, 0.7


def gemma() -> Gemma2Attention:
    config = Gemma2Config(
        hidden_size=DIM,
        num_attention_heads=HEADS,
        num_key_value_heads=KV_HEADS,
        head_dim=HEAD_DIM,
        query_pre_attn_scalar=HEAD_DIM,
        attn_logit_softcapping=CAP,
        num_hidden_layers=2,
        attn_implementation="eager",
    )
    return roughen(Gemma2Attention(config, 1)).eval()  # the layer without a window


def test_capped_scores_are_those_of_gemma():
    torch.manual_seed(1)
    theirs, score = gemma(), SoftCapScore(ScaledDotScore(HEAD_DIM), CAP)
    ours = MultiHeadAttention(
        DIM, HEADS, HEAD_DIM, HEAD_DIM, Noise(), 0.0, KV_HEADS, False, HeadParts(score)
    )
    copy_projections(ours, theirs)
    states, heard = torch.randn(2, 7, DIM) * 3, []
    allowed = AttentionMask(causal=True)
    drawn = allowed.draw(7, 7, states.device)
    expected, weights = theirs(states, *at_no_position(states, HEAD_DIM, drawn))
    torch.testing.assert_close(ours(states, states, allowed), expected, atol=1e-5, rtol=0)
    with observe(ours, lambda _, attention: heard.append(attention)):
        ours(states, states, allowed)
    torch.testing.assert_close(heard[0].weights, weights, atol=1e-6, rtol=0)
    assert isinstance(heard[0], Attention)
    assert (heard[0].kind, heard[0].scale) == ("scaled-dot, soft-capped", None)
    score.cap = 1e6
    assert not torch.allclose(ours(states, states, allowed), expected, atol=1e-3)


def test_a_logit_is_capped_by_hand():
    """15 tanh(60 / 15), and a small one that stays what it is."""
    projection = Projection(torch.nn.Parameter(torch.tensor([[60.0], [-0.03]])), 15.0)
    found = projection(torch.ones(1, 1))[0].tolist()
    assert found == pytest.approx([15 * math.tanh(4.0), -0.03], rel=1e-5)


@pytest.mark.parametrize("vocabulary", [16, 101])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_loss_of_capped_logits_and_its_gradients_agree_with_the_twins(vocabulary, dtype):
    torch.manual_seed(1)
    hidden, output = torch.randn(523, 16), torch.randn(vocabulary, 16)
    targets = torch.arange(523) % vocabulary

    def fast(hidden, output):
        return smoothed_cross_entropy(hidden, output, targets, 0.1, cap=2.0).to(dtype)

    def slow(hidden, output):
        return smoothed_cross_entropy_plainly(hidden, output, targets, 0.1, cap=2.0)

    assert_twins(fast, slow, [hidden, output], dtype)

    def fast_of_two(hidden, output):
        pairs = hidden[:522].unflatten(0, (-1, 2))
        loss = consistent_cross_entropy(pairs, output, targets[:261], 0.1, 0.7, 2.0)
        return loss.to(dtype)

    def slow_of_two(hidden, output):
        pairs = hidden[:522].unflatten(0, (-1, 2))
        return consistent_cross_entropy_plainly(pairs, output, targets[:261], 0.1, 0.7, 2.0)

    assert_twins(fast_of_two, slow_of_two, [hidden, output], dtype)


def test_a_recipe_caps_the_logits_of_training_and_of_every_step():
    torch.manual_seed(1)
    sizes = {"dim": 12, "heads": 3, "layers": 1, "feedforward": 17, "dropout": 0.0}
    capped = roughen(CausalLanguageModel(CausalConfig(logit_cap=0.5, **sizes), 23)).eval()
    plain = CausalLanguageModel(CausalConfig(**sizes), 23).eval()
    plain.load_state_dict(capped.state_dict())
    tokens = torch.arange(10).view(2, 5)
    expected = 0.5 * torch.tanh(plain.decoder.logits(plain.hidden(tokens)) / 0.5)
    found = capped.decoder.logits(capped.hidden(tokens))
    torch.testing.assert_close(found, expected, atol=1e-6, rtol=0)
    step, _ = capped.decoder.step(tokens[:, 0], capped.decoder.start(capped.nothing(2)))
    torch.testing.assert_close(step, expected[:, 0], atol=1e-6, rtol=0)
