"""Steps of a decoder in one call of the kernel, against the block's own parts."""

from typing import Any

import pytest
import torch

from jumok.attention.masks import mask_of_keys
from jumok.attention.observe import Attention, observe
from jumok.attention.scores import DotScore
from jumok.config import TransformerConfig
from jumok.inspection.hooks.streams import watch_streams
from jumok.kernels import native
from jumok.kernels.linear import prepare_for_inference
from jumok.kernels.packed import Packs
from jumok.layers.block import Block
from jumok.layers.block_step import block_step
from jumok.layers.block_step import in_one_call as fast
from jumok.layers.feedforward import PlainFeedForward
from jumok.layers.residual import PostNorm, PreNorm
from jumok.models.encoder_decoder import Transformer
from tests.kernels.twins import TOLERANCE

pytestmark = pytest.mark.skipif(
    native.library() is None or not torch.backends.mkldnn.is_available(),
    reason="needs a C compiler and torch with oneDNN",
)

SIZES: dict[str, Any] = {"dim": 48, "heads": 3, "feedforward": 80}
STEPS = 37  # more than the cache has room for at first


@pytest.fixture(autouse=True)
def one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def prepared(dtype: torch.dtype, **changes: Any) -> Transformer:
    torch.manual_seed(3)
    model = Transformer(TransformerConfig(**{**SIZES, **changes}), 29)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.2)  # biases and gains too
    return prepare_for_inference(model, dtype)


def in_one_call(model: Transformer) -> list[bool]:
    """Whether the kernel knows each block."""
    return [block_step(block) is not None for block in model.decoder.blocks]


def logits_of_steps(model: Transformer, rows: int, swaps: bool = True) -> torch.Tensor:
    """All logits of a walk in which rows change places, over sources of different lengths."""
    with Packs().at_work():
        return logits_of_parts(model, rows, swaps)


@torch.inference_mode()
def logits_of_parts(model: Transformer, rows: int, swaps: bool = True) -> torch.Tensor:
    """The same by the blocks' own parts: nobody vouches for copies of the weights."""
    lengths = torch.arange(rows) % 5 + 2
    source = torch.arange(rows * 6).view(rows, 6) % 25 + 4
    source = source.masked_fill(torch.arange(6) >= lengths[:, None], 0)  # PAD
    state = model.decoder.start(model.encode(source))
    tokens, seen = torch.arange(rows) % 25 + 4, []
    for step in range(STEPS):
        logits, state = model.decoder.step(tokens, state)
        seen.append(logits.float())
        tokens = (tokens * 7 + step) % 25 + 4
        if swaps and step % 9 == 4:
            state = model.decoder.reorder(state, torch.arange(rows).flip(0))
    return torch.stack(seen)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("rows", [1, 5, 8, 19])
def test_a_step_in_one_call_is_the_step_of_the_parts(dtype, norm, rows):
    model = prepared(dtype, norm=norm, head_dim=32, value_dim=16)
    assert all(in_one_call(model))
    found = logits_of_steps(model, rows)
    expected = logits_of_parts(model, rows)
    limit = 4 * TOLERANCE[dtype] * float(expected.abs().max())  # through three blocks
    torch.testing.assert_close(found, expected, atol=limit, rtol=0)


@pytest.mark.parametrize(
    "changes",
    [
        {"bias": False},
        {"score": "dot"},
        {"norm_epsilon": 0.9},
        {"window": 5, "window_layers": ["window", "window", "whole"]},
    ],
)
def test_the_kernel_takes_what_a_part_says(changes):
    model = prepared(torch.float32, **changes)
    assert all(in_one_call(model))
    found, expected = logits_of_steps(model, 5), logits_of_parts(model, 5)
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4)
    assert not torch.allclose(found, logits_of_parts(prepared(torch.float32), 5), atol=1e-2)


@pytest.mark.parametrize(
    "changes",
    [
        {"positions": "rotary"},
        {"positions": "alibi"},
        {"activation": "gelu"},
        {"activation": "relu2"},
        {"score_cap": 0.7},
        {"sinks": True},
        {"process_output": ["head-gate"]},
        {"dim": 24},
        {"norm_kind": "rms"},
        {"feedforward_kind": "gated"},
        {"kv_heads": 1},
        {"process_heads": ["qk-norm"]},
        {"process_output": ["head-scale"]},
        {"score": "bilinear"},
        {"score": "additive"},
    ],
)
def test_a_block_that_the_kernel_does_not_serve_is_stepped_by_its_parts(changes):
    """What a step gives is what all positions at once give."""
    model = prepared(torch.float32, **changes)
    assert not any(in_one_call(model))
    tokens = torch.arange(2 * STEPS).view(2, STEPS) % 25 + 4
    with torch.inference_mode(), Packs().at_work():
        memory = model.encode(torch.tensor([[5, 6, 7], [8, 9, 10]]))
        expected = model.decoder(memory, tokens)
        state, found = model.decoder.start(memory), []
        for column in tokens.T:
            logits, state = model.decoder.step(column, state)
            found.append(logits)
    torch.testing.assert_close(torch.stack(found, 1), expected, atol=2e-4, rtol=2e-4)


def test_parts_of_different_scales_or_norms_are_not_one_call():
    model = prepared(torch.float32)
    first, second, third = model.decoder.blocks
    first.cross_attention.score = DotScore()
    second.after_cross.norm.eps = 0.1
    third.after_cross = PostNorm(third.after_cross.norm, third.after_cross.dropout)
    assert in_one_call(model) == [False, False, False]


def test_a_class_whose_forward_was_replaced_is_not_served(monkeypatch):
    model = prepared(torch.float32)
    forward = PlainFeedForward.forward
    monkeypatch.setattr(PlainFeedForward, "forward", lambda part, states: 2 * forward(part, states))
    assert in_one_call(model) == [False, False, False]


def test_a_subclass_of_a_part_is_not_taken_for_that_part():
    class WithoutNorm(PreNorm):
        def forward(self, stream, update):
            return stream + update, stream + update

    torch.manual_seed(3)
    model = Transformer(TransformerConfig(**SIZES), 29)
    for block in model.decoder.blocks:
        block.after_cross = WithoutNorm(torch.nn.LayerNorm(48), block.after_cross.dropout)
    steps = logits_of_steps(prepare_for_inference(model, torch.float32), 2, swaps=False)
    assert not any(in_one_call(model))
    assert steps.isfinite().all()


@torch.inference_mode()
def attentions_of_steps(block: Block, rows: int, dtype: torch.dtype) -> list[Attention]:
    """What the observers of one block are told in a walk; a row may look at nothing."""
    torch.manual_seed(7)
    state = block.start(torch.randn(rows, 5, 48, dtype=dtype))
    allowed = mask_of_keys(torch.arange(5) < torch.arange(rows)[:, None] % 6)
    seen: list[Attention] = []
    with observe(block, lambda site, attention: seen.append(attention)):
        for _ in range(STEPS):
            stream, normed = torch.randn(2, rows, 1, 48, dtype=dtype)
            block(stream, normed, None, None, allowed, state)
    return seen


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize(("rows", "window"), [(1, None), (5, None), (19, None), (5, 4)])
def test_observers_are_told_the_same_by_the_kernel_as_by_the_parts(dtype, rows, window):
    block = prepared(dtype, head_dim=32, value_dim=16, window=window).decoder.blocks[0]
    with Packs().at_work():
        found = attentions_of_steps(block, rows, dtype)
    expected = attentions_of_steps(block, rows, dtype)
    assert len(found) == len(expected) == 2 * STEPS
    for ours, theirs in zip(found, expected, strict=True):
        assert (ours.kind, ours.scale, ours.bias) == (theirs.kind, theirs.scale, theirs.bias)
        assert (ours.allowed is None) == (theirs.allowed is None)
        assert ours.allowed is None or torch.equal(ours.allowed, theirs.allowed)
        assert ours.weights.dtype == theirs.weights.dtype
        limit = 1e-6 if dtype is torch.float32 else TOLERANCE[dtype]
        torch.testing.assert_close(ours.weights, theirs.weights, atol=limit, rtol=0)
        for name in ("query", "key", "value"):
            mine, other = getattr(ours, name), getattr(theirs, name)
            limit = TOLERANCE[dtype] * float(other.abs().max())
            torch.testing.assert_close(mine, other, atol=limit, rtol=0)


def test_a_block_that_is_watched_stays_one_call_and_one_that_is_changed_takes_the_parts(
    monkeypatch,
):
    model = prepared(torch.float32)
    seen: list[str] = []
    parts: list[Block] = []
    step = Block._step

    def by_parts(block, *given):
        parts.append(block)
        return step(block, *given)

    monkeypatch.setattr(Block, "_step", by_parts)
    alone = logits_of_steps(model, 2)
    with observe(model, lambda site, attention: seen.append(site)):
        watched = logits_of_steps(model, 2)
    torch.testing.assert_close(alone, watched, atol=1e-5, rtol=1e-5)
    assert seen.count("decoder.blocks.0.cross_attention") == STEPS
    assert seen.count("decoder.blocks.2.self_attention") == STEPS
    assert parts == []
    attention = model.decoder.blocks[1].self_attention
    attention.gate = torch.zeros(3)
    assert not torch.allclose(logits_of_steps(model, 2), watched, atol=1e-2)
    attention.gate = None
    attention.edit = lambda weights, position: torch.zeros_like(weights)
    with observe(model, lambda site, attention: seen.append(site)):
        changed = logits_of_steps(model, 2)
    assert not torch.allclose(changed, watched, atol=1e-2)
    assert parts == [model.decoder.blocks[1]] * 2 * STEPS, "the others are not changed"
    assert seen.count("decoder.blocks.1.self_attention") == 2 * STEPS


def test_what_a_block_leaves_is_heard_in_one_call_too():
    model = prepared(torch.float32)
    heard: list[tuple[str, int]] = []
    with watch_streams(model, lambda stack, layer, stream: heard.append((stack, layer))):
        logits_of_steps(model, 2)
    assert heard.count(("encoder", 1)) == 1
    for layer in range(len(model.decoder.blocks) + 1):
        assert heard.count(("decoder", layer)) == STEPS


def test_the_kernel_does_not_write_into_what_it_was_given():
    model = prepared(torch.float32)
    block, state = model.decoder.blocks[0], model.decoder.blocks[0].start(torch.randn(2, 3, 48))
    stream, normed = torch.randn(2, 1, 48), torch.randn(2, 1, 48)
    before = stream.clone(), normed.clone()
    with torch.inference_mode(), Packs().at_work():
        assert fast(block, stream) is not None
        block(stream, normed, None, state=state)
    assert torch.equal(stream, before[0])
    assert torch.equal(normed, before[1])
