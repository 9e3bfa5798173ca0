"""Attention sinks, against Hugging Face's gpt-oss and by hand."""

import pytest
import torch
from transformers import GptOssConfig
from transformers.models.gpt_oss.modeling_gpt_oss import GptOssAttention

from jumok.attention.core import attend_with_weights, repeat_heads
from jumok.attention.interfaces import HeadParts
from jumok.attention.masks import AttentionMask
from jumok.attention.multihead import MultiHeadAttention
from jumok.attention.observe import observe
from jumok.attention.variants.sink import AttentionSink
from jumok.kernels.noise import DropoutMask, Noise
from tests.attention.variants.huggingface import at_no_position, copy_projections
from tests.kernels.twins import assert_same_gradients
from tests.parity.torch_weights import roughen

DIM, HEADS, KV_HEADS, HEAD_DIM = 13, 6, 2, 8


def test_a_sink_is_that_of_gpt_oss():
    torch.manual_seed(1)
    config = GptOssConfig(
        hidden_size=DIM,
        num_attention_heads=HEADS,
        num_key_value_heads=KV_HEADS,
        head_dim=HEAD_DIM,
        attention_bias=True,
        layer_types=["full_attention"],
        num_hidden_layers=1,
        attn_implementation="eager",
    )
    theirs, sink = GptOssAttention(config, 0), AttentionSink(HEADS)
    torch.nn.init.zeros_(theirs.sinks)
    roughen(theirs).eval()
    ours = MultiHeadAttention(
        DIM, HEADS, HEAD_DIM, HEAD_DIM, Noise(), 0.0, KV_HEADS, True, HeadParts(sink=sink)
    )
    copy_projections(ours, theirs)
    with torch.no_grad():
        sink.score.copy_(theirs.sinks)
    states, heard = torch.randn(2, 7, DIM), []
    allowed = AttentionMask(causal=True)
    drawn = allowed.draw(7, 7, states.device)
    expected, weights = theirs(states, *at_no_position(states, HEAD_DIM // 2, drawn))
    torch.testing.assert_close(ours(states, states, allowed), expected, atol=1e-5, rtol=0)
    with observe(ours, lambda _, attention: heard.append(attention)):
        watched = ours(states, states, allowed)
    torch.testing.assert_close(watched, expected, atol=1e-5, rtol=0)
    torch.testing.assert_close(heard[0].weights, weights, atol=1e-6, rtol=0)


def test_the_rest_of_a_row_is_the_share_of_the_sink():
    """Scores log 1 and log 3 beside a sink of log 5: weights 1/9 and 3/9, and 5/9 go nowhere."""
    keys = torch.tensor([1.0, 3.0]).log().view(1, 1, 2, 1)
    found, weights = attend_with_weights(
        torch.ones(1, 1, 1, 1), keys, torch.tensor([[[[8.0], [80.0]]]]),
        scale=1.0, sink=torch.tensor([5.0]).log(),
    )  # fmt: skip
    assert weights.flatten().tolist() == pytest.approx([1 / 9, 3 / 9])
    assert found.item() == pytest.approx(8 / 9 + 240 / 9)


def some_keys() -> torch.Tensor:
    """Query 2 of the second sentence attends to the sink alone."""
    allowed = torch.arange(2 * 5 * 13).mul(7).remainder(11).view(2, 1, 5, 13) < 7
    allowed[1, :, 2] = False
    return allowed


@pytest.mark.parametrize("dim", [7, 16])  # in torch, and in C
@pytest.mark.parametrize(
    "mask",
    [
        None,
        AttentionMask(causal=True),
        AttentionMask(causal=True, window=3),
        AttentionMask(real=torch.arange(2 * 13).mul(7).remainder(11).view(2, 13) < 7),
        AttentionMask(matrix=some_keys()),
    ],
    ids=["none", "causal", "window", "padding", "matrix"],
)
def test_the_sink_as_a_key_agrees_with_the_twin_gradients_and_dropout_too(dim, mask):
    torch.manual_seed(1)
    sink = roughen(AttentionSink(6))
    shapes = [(2, 6, 5, dim), (2, 3, 13, dim), (2, 3, 13, 16)]
    query, key, value = (torch.randn(shape).requires_grad_() for shape in shapes)
    bias, drop = torch.arange(6.0 * 5 * 13).sin().view(1, 6, 5, 13), DropoutMask(0.3, 12345)
    found = sink(query, key, value, mask, bias, drop, 0.4)
    allowed = None if mask is None else mask.draw(5, 13, query.device)
    repeated = (repeat_heads(each, 6) for each in (key, value))
    expected, _ = attend_with_weights(query, *repeated, allowed, bias, drop, 0.4, sink.score)
    torch.testing.assert_close(found, expected, atol=2e-6, rtol=0)
    assert_same_gradients(found, expected, (query, key, value, sink.score), atol=1e-5)
    if mask is not None and mask.matrix is not None:
        return
    few = sink(query[:, :, -2:], key, value, mask, None, None, 0.4)
    many = sink(query, key, value, mask, None, None, 0.4)[:, :, -2:]
    torch.testing.assert_close(few, many, atol=2e-6, rtol=0)
