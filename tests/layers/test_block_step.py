"""Steps of a decoder in one call of the kernel, against the block's own parts."""

from typing import Any

import pytest
import torch

from jumok.attention.observe import observe
from jumok.config import TransformerConfig
from jumok.kernels import native
from jumok.kernels.linear import prepare_for_inference
from jumok.layers.residual import PreNorm
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


def without_kernel(model: Transformer) -> Transformer:
    for block in model.decoder.blocks:
        block._in_one_call = None
    return model


@torch.inference_mode()
def logits_of_steps(model: Transformer, rows: int, swaps: bool = True) -> torch.Tensor:
    """All logits of a walk in which rows change places, over sources of different lengths."""
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
    assert all(block._in_one_call is not None for block in model.decoder.blocks)
    found = logits_of_steps(model, rows)
    expected = logits_of_steps(without_kernel(model), rows)
    limit = 4 * TOLERANCE[dtype] * float(expected.abs().max())  # through three blocks
    torch.testing.assert_close(found, expected, atol=limit, rtol=0)


@pytest.mark.parametrize("changes", [{"positions": "rotary"}, {"activation": "gelu"}, {"dim": 24}])
def test_a_block_that_the_kernel_does_not_know_keeps_its_parts(changes):
    model = prepared(torch.float32, **changes)
    assert all(block._in_one_call is None for block in model.decoder.blocks)
    assert logits_of_steps(model, 2).isfinite().all()


def test_a_subclass_of_a_part_is_not_taken_for_that_part():
    class WithoutNorm(PreNorm):
        def forward(self, stream, update):
            return stream + update, stream + update

    torch.manual_seed(3)
    model = Transformer(TransformerConfig(**SIZES), 29)
    for block in model.decoder.blocks:
        block.after_cross = WithoutNorm(48, block.after_cross.dropout)
    steps = logits_of_steps(prepare_for_inference(model, torch.float32), 2, swaps=False)
    assert all(block._in_one_call is None for block in model.decoder.blocks)
    assert steps.isfinite().all()


def test_a_block_that_is_watched_or_changed_takes_the_parts():
    model, seen = prepared(torch.float32), []
    with observe(model, lambda site, attention: seen.append(site)):
        watched = logits_of_steps(model, 2)
    torch.testing.assert_close(logits_of_steps(model, 2), watched, atol=1e-5, rtol=1e-5)
    assert seen.count("decoder.blocks.0.cross_attention") == STEPS
    attention = model.decoder.blocks[1].self_attention
    attention.gate = torch.zeros(3)
    assert not torch.allclose(logits_of_steps(model, 2), watched, atol=1e-2)
    attention.gate = None
    attention.edit = lambda weights, position: torch.zeros_like(weights)
    assert not torch.allclose(logits_of_steps(model, 2), watched, atol=1e-2)


def test_the_kernel_does_not_write_into_what_it_was_given():
    model = prepared(torch.float32)
    block, state = model.decoder.blocks[0], model.decoder.blocks[0].start(torch.randn(2, 3, 48))
    stream, normed = torch.randn(2, 1, 48), torch.randn(2, 1, 48)
    before = stream.clone(), normed.clone()
    with torch.inference_mode():
        block.step(stream, normed, state, None)
    assert torch.equal(stream, before[0])
    assert torch.equal(normed, before[1])
