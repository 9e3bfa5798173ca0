"""Watching attention changes nothing, and leaves nothing behind."""

import pytest
import torch

from jumok.attention.observe import Attention, Observable, observe
from jumok.config import TransformerConfig
from jumok.models.encoder_decoder import Transformer
from tests.parity.torch_weights import roughen

SITES = [
    "encoder.blocks.0.self_attention",
    "encoder.blocks.1.self_attention",
    "decoder.blocks.0.self_attention",
    "decoder.blocks.0.cross_attention",
]
SOURCE = torch.tensor([[5, 6, 7, 3], [8, 9, 3, 0]])
ALLOWED = SOURCE != 0
TARGET = torch.tensor([[2, 11, 12], [2, 13, 0]])


@pytest.fixture
def model() -> Transformer:
    torch.manual_seed(1)
    config = TransformerConfig(
        dim=48, heads=3, encoder_layers=2, decoder_layers=1, feedforward=29, attention_dropout=0.5
    )
    return roughen(Transformer(config, 23)).eval()


def run(model: Transformer) -> torch.Tensor:
    return model.decoder(model.encode(SOURCE, ALLOWED), TARGET)


@pytest.mark.parametrize("training", [False, True])
def test_watching_changes_no_output(model, training):
    model.train(training)
    model.noise.rekey(1)
    alone = run(model)
    seen: list[str] = []
    model.noise.rekey(1)  # the same dropout masks
    with observe(model, lambda site, _: seen.append(site)):
        watched = run(model)
    assert seen == SITES
    torch.testing.assert_close(watched, alone, atol=1e-5, rtol=0)


def test_what_is_seen_is_what_happened(model):
    seen: dict[str, Attention] = {}
    with observe(model, seen.__setitem__):
        run(model)
    for site, attention in seen.items():
        sums = attention.weights.sum(-1)
        torch.testing.assert_close(sums, torch.ones_like(sums), atol=1e-6, rtol=0)
        scores = attention.query @ attention.key.transpose(2, 3) / 4  # sqrt(16)
        hidden = attention.weights == 0
        expected = scores.masked_fill(hidden, -torch.inf).softmax(-1)
        torch.testing.assert_close(attention.weights, expected, atol=1e-6, rtol=0)
        assert attention.value.shape == (2, 3, 3 if "decoder.blocks.0.self" in site else 4, 16)
    assert torch.equal(seen[SITES[3]].weights[1, :, :, 3], torch.zeros(3, 3))  # padding
    assert not seen[SITES[2]].weights.triu(1).any()  # the future


def test_wanted_chooses_sites_by_name(model):
    seen: list[str] = []
    with observe(model, lambda site, _: seen.append(site), wanted=lambda site: "cross" in site):
        run(model)
    assert seen == SITES[3:]


def test_two_may_watch_at_once_and_a_step_is_seen_too(model):
    outer: list[str] = []
    inner: list[str] = []
    memory = model.encode(SOURCE, ALLOWED)
    state = model.decoder.start(memory)
    with observe(model, lambda site, _: outer.append(site)):
        with observe(model, lambda site, _: inner.append(site)):
            _, state = model.decoder.step(TARGET[:, 0], state)
        model.decoder.step(TARGET[:, 1], state)
    assert inner == SITES[2:]
    assert outer == SITES[2:] * 2


@pytest.mark.parametrize("fails", [False, True])
def test_fast_path_is_restored(model, fails):
    before = run(model)

    def observer(site: str, attention: Attention) -> None:
        if fails:
            raise ZeroDivisionError

    try:
        with observe(model, observer):
            run(model)
    except ZeroDivisionError:
        assert fails
    assert not any(module.observers for module in model.modules() if isinstance(module, Observable))
    assert torch.equal(run(model), before)
