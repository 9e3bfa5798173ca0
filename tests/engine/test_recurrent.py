"""RNNs on the engine against torch: the same models, the same hypotheses."""

import numpy as np
import pytest
import torch

from jumok.config.recurrent import RecurrentConfig
from jumok.decoding import DecodingOptions
from jumok.engine.recurrent import NativeRecurrent, missing
from jumok.engine.structures import library
from jumok.models.recurrent import RecurrentModel
from tests.engine.test_transformer import OPTIONS, VOCABULARY, by_torch, rules_of, sources_of

pytestmark = pytest.mark.skipif(library() is None, reason="needs a C compiler")

SIZES = {"dim": 96, "embedding": 80}
KINDS = {
    "Bahdanau": {"decoder_layers": 2},
    "gate": {"gate": True, "cell": "rnn"},
    "coverage": {"coverage": True, "cell": "lstm", "decoder_layers": 2},
    "Luong": {"order": "luong", "attention": "bilinear", "encoder_layers": 2},
    "Luong with coverage": {"order": "luong", "coverage": True},
    "dot": {"order": "luong", "attention": "dot", "cell": "lstm"},
    "scaled dot": {"order": "luong", "attention": "scaled-dot", "cell": "rnn"},
    "cosine": {"attention": "cosine"},
    "input feeding": {"order": "luong", "input_feeding": True, "decoder_layers": 2},
    "GNMT": {"order": "gnmt", "decoder_layers": 3, "encoder_layers": 2, "cell": "lstm"},
    "first state": {"attention": "none"},
    "first state of LSTMs": {"attention": "none", "cell": "lstm", "decoder_layers": 2},
    "every step": {"attention": "none", "context": "every-step", "encoder_layers": 2},
    "one direction": {"bidirectional": False, "order": "luong"},
    "one direction, one vector": {"bidirectional": False, "attention": "none"},
    "untied": {"tied": "none"},
    "target tied": {"tied": "target", "embedding": 112},
    "as wide as the states": {"embedding": 96, "dim": 96, "order": "luong", "input_feeding": True},
}


def model_of(**keys) -> tuple[RecurrentConfig, RecurrentModel]:
    config = RecurrentConfig(**(SIZES | keys))
    torch.manual_seed(7)
    model = RecurrentModel(config, VOCABULARY).eval()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.dim() == 1:  # biases of training are not 0
                weight.add_(torch.randn_like(weight) * 0.3)
            elif "readout" in name or "output" in name:  # far from equal probabilities
                weight.mul_(3.0)
    return config, model


def engine_of(config: RecurrentConfig, model: RecurrentModel, kind="fp32") -> NativeRecurrent:
    assert missing(config) is None
    weights = {name: tensor.numpy() for name, tensor in model.state_dict().items()}
    return NativeRecurrent(config, weights, kind)


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("keys", KINDS.values(), ids=KINDS)
def test_the_engine_finds_what_torch_finds(keys, options):
    config, model = model_of(**keys)
    sources = sources_of(7, 1, 19, 4, 11)
    with torch.inference_mode():
        expected = by_torch(model, sources, options)
    found = engine_of(config, model).search(sources, rules_of(options, sources))
    assert [each.tokens for each in found] == [each.tokens for each in expected]
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours.log_probabilities, theirs.log_probabilities, atol=2e-5)
    assert len({each.log_probabilities for each in found}) == len(sources)


@pytest.mark.parametrize("kind", ["fp32", "bf16", "int8"])
@pytest.mark.parametrize("beam", [1, 3])
def test_an_answer_does_not_depend_on_what_shares_its_batch(kind, beam):
    config, model = model_of(coverage=True, gate=True, encoder_layers=2)
    engine = engine_of(config, model, kind)
    sources = sources_of(7, 1, 19, 4, 11, 3, 23, 8, 15)
    options = DecodingOptions(beam=beam, maximum_ratio=1.5)
    together = engine.search(sources, rules_of(options, sources))
    for source, expected in zip(sources, together, strict=True):
        assert engine.search([source], rules_of(options, [source])) == [expected]


@pytest.mark.parametrize(("kind", "apart"), [("bf16", 0.05), ("int8", 0.15)])
@pytest.mark.parametrize("keys", [KINDS["GNMT"], KINDS["every step"]], ids=["GNMT", "every step"])
def test_fewer_bits_change_the_probabilities_little(keys, kind, apart):
    config, model = model_of(**keys)
    sources = sources_of(7, 12, 19)
    options = DecodingOptions(beam=1, maximum_length=1)
    exact, rounded = (
        engine_of(config, model, each).search(sources, rules_of(options, sources))
        for each in ("fp32", kind)
    )
    for one, other in zip(exact, rounded, strict=True):
        assert one.tokens == other.tokens
        assert 0 < abs(one.log_probabilities[0] - other.log_probabilities[0]) < apart


@pytest.mark.parametrize(
    ("keys", "what"),
    [
        ({"embedding": 40}, "embedding = 40, which is no multiple of 16"),
        ({"dim": 80}, "dim = 80, which is no multiple of 32"),
        ({"dim": 40, "bidirectional": False}, "dim = 40, which is no multiple of 16"),
    ],
)
def test_what_the_engine_does_not_have_is_named(keys, what):
    config, _ = model_of(**keys)
    assert missing(config) == what
