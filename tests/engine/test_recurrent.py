"""RNNs on the engine against torch: the same models, the same hypotheses."""

import numpy as np
import pytest
import torch

from jumok.attention.observe import observe
from jumok.config.recurrent import RecurrentConfig
from jumok.data.pairs.batches import source_batches
from jumok.data.tokenizer import END, START
from jumok.decoding import DecodingOptions
from jumok.decoding.score import score_pairs
from jumok.engine.forced import WatchedAttention
from jumok.engine.quantising import quantised
from jumok.engine.recurrent import NativeRecurrent, missing
from jumok.engine.structures import library
from jumok.errors import ModelError
from jumok.models.recurrent import RecurrentModel
from tests.engine.test_forced import LENGTHS, targets_of
from tests.engine.test_transformer import (
    OPTIONS,
    VOCABULARY,
    assert_rounded_little,
    by_torch,
    rules_of,
    sources_of,
)

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
    "states copied and read": {
        "attention": "none",
        "first_state": "copy",
        "readout": False,
        "output_bias": True,
        "cell": "lstm",
        "decoder_layers": 2,
        "dim": 58,
        "embedding": 58,
    },
    "untied": {"tied": "none"},
    "last states": {
        "dim": 58,
        "embedding": 58,
        "order": "luong",
        "input_feeding": True,
        "first_state": "last",
        "encoder_layers": 2,
        "cell": "lstm",
    },
    "last states, one direction": {"bidirectional": False, "first_state": "last"},
    "target tied": {"tied": "target", "embedding": 112},
    "odd widths": {"dim": 58, "embedding": 21, "encoder_layers": 2, "coverage": True},
    "odd widths, LSTM": {
        "dim": 30,
        "embedding": 40,
        "order": "gnmt",
        "decoder_layers": 2,
        "cell": "lstm",
    },
    "odd widths, one vector": {
        "dim": 38,
        "embedding": 50,
        "attention": "none",
        "context": "every-step",
    },
    "odd widths, dot": {
        "dim": 46,
        "embedding": 10,
        "order": "luong",
        "attention": "dot",
        "input_feeding": True,
    },
    "odd widths, scaled cosine": {
        "dim": 45,
        "embedding": 10,
        "attention": "cosine",
        "bidirectional": False,
    },
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


def read_by_torch(model: RecurrentModel, sources, targets):
    """The log-probabilities of each target, and its attention (target source), of one sentence."""
    for source, target in zip(sources, targets, strict=True):
        seen = []
        (batch,) = source_batches([source[:-1]], sentences=1)
        with torch.inference_mode(), observe(model, lambda _, at, kept=seen: kept.append(at)):
            memory = model.encode(batch.tokens, batch.allowed)
            (scored,) = score_pairs(model.decoder, memory, [target])
        weights = [at.weights[0, 0].numpy() for at in seen]
        yield scored.token_log_probabilities, np.concatenate(weights) if weights else None


@pytest.mark.parametrize("keys", KINDS.values(), ids=KINDS)
def test_given_targets_have_the_log_probabilities_and_attention_of_torch(keys):
    config, model = model_of(**keys)
    sources, targets = sources_of(*LENGTHS), targets_of(9, 30, 0, 21, 8)
    looks = config.attention != "none"
    watched = [WatchedAttention("cross", 0)] if looks else []
    forced = engine_of(config, model).force(sources, targets, (START, END), watched)
    expected = read_by_torch(model, sources, targets)
    for ours, (values, weights) in zip(forced, expected, strict=True):
        np.testing.assert_allclose(ours.log_probabilities, values, atol=2e-5)
        assert len(ours.attention) == looks
        for found in ours.attention:
            np.testing.assert_allclose(found[0], weights, atol=1e-5)


@pytest.mark.parametrize("beam", [1, 3])
def test_a_search_gives_the_attention_of_what_it_found(beam):
    config, model = model_of(coverage=True)
    sources, engine = sources_of(*LENGTHS), engine_of(config, model)
    rules = rules_of(DecodingOptions(beam=beam, maximum_ratio=1.5), sources)
    watched = [WatchedAttention("cross", 0)]
    found = engine.search(sources, rules, watched)
    assert [each.tokens for each in found] == [
        each.tokens for each in engine.search(sources, rules)
    ]
    again = engine.force(sources, [each.tokens for each in found], (START, END), watched)
    for ours, theirs in zip(found, again, strict=True):
        count = len(ours.log_probabilities)
        assert ours.log_probabilities == theirs.log_probabilities[:count]
        np.testing.assert_array_equal(ours.attention[0], theirs.attention[0])


@pytest.mark.parametrize("keys", [KINDS["Bahdanau"], KINDS["every step"]], ids=["grid", "vector"])
def test_a_given_memory_is_read_as_the_encoders_own(keys):
    config, model = model_of(**keys)
    sources, targets = sources_of(*LENGTHS), targets_of(9, 30, 0, 21, 8)
    weights = {name: tensor.numpy() for name, tensor in model.state_dict().items()}
    weights = {name: weight for name, weight in weights.items() if "decoder" in name}
    decoder, whole = NativeRecurrent(config, weights), engine_of(config, model)
    with torch.inference_mode():
        memories = [model.encode(torch.tensor([each])).states[0].numpy() for each in sources]
    rules = rules_of(DecodingOptions(beam=3, maximum_length=20), sources)
    expected = whole.search(sources, rules)
    for ours, theirs in zip(decoder.search(memories, rules), expected, strict=True):
        assert ours.tokens == theirs.tokens
        np.testing.assert_allclose(ours.log_probabilities, theirs.log_probabilities, atol=2e-5)
    forced = decoder.force(memories, targets, (START, END))
    for ours, theirs in zip(forced, whole.force(sources, targets, (START, END)), strict=True):
        np.testing.assert_allclose(ours.log_probabilities, theirs.log_probabilities, atol=2e-5)
    with pytest.raises(ModelError, match="a Memory has another width"):
        decoder.search([np.zeros((3, 64), np.float32)], rules)


def test_attention_that_an_rnn_does_not_have_is_refused():
    for keys in ({}, {"attention": "none"}):
        config, model = model_of(**keys)
        for part in ("encoder", "decoder", *["cross"] * (config.attention == "none")):
            watched = [WatchedAttention(part, 0)]
            with pytest.raises(ModelError, match="there is no such attention"):
                engine_of(config, model).force(sources_of(3), [[5]], (START, END), watched)


@pytest.mark.parametrize("kind", ["fp32", "bf16", "int8"])
@pytest.mark.parametrize("beam", [1, 3])
def test_an_answer_does_not_depend_on_what_shares_its_batch(kind, beam):
    config, model = model_of(coverage=True, gate=True, encoder_layers=2)
    engine = engine_of(config, model, kind)
    sources = sources_of(7, 1, 19, 4, 11, 3, 23, 8, 15)
    options = DecodingOptions(beam=beam, maximum_ratio=1.5)
    together = engine.search(sources, rules_of(options, sources))
    targets, watched = [each.tokens for each in together], [WatchedAttention("cross", 0)]
    forced = engine.force(sources, targets, (START, END), watched)
    for source, target, expected, read in zip(sources, targets, together, forced, strict=True):
        assert engine.search([source], rules_of(options, [source])) == [expected]
        (alone,) = engine.force([source], [target], (START, END), watched)
        assert alone.log_probabilities == read.log_probabilities
        np.testing.assert_array_equal(alone.attention[0], read.attention[0])


@pytest.mark.parametrize(("kind", "apart"), [("bf16", 0.05), ("int8", 0.15)])
@pytest.mark.parametrize("keys", [KINDS["GNMT"], KINDS["every step"]], ids=["GNMT", "every step"])
def test_fewer_bits_change_the_probabilities_little(keys, kind, apart):
    made = model_of(**keys)
    assert_rounded_little(engine_of(*made), engine_of(*made, kind), apart)


def test_matrices_that_are_int8_already_give_the_same_answers():
    config, model = model_of(dim=58, embedding=21, order="gnmt", decoder_layers=2)
    sources = sources_of(*LENGTHS)
    rules = rules_of(DecodingOptions(beam=2, maximum_length=12), sources)
    weights = {name: tensor.numpy() for name, tensor in model.state_dict().items()}
    integers = {name: quantised(each) for name, each in weights.items() if each.ndim == 2}
    floats = {
        name: integers[name].floats() if name.endswith("table") else each
        for name, each in weights.items()
        if name not in integers or name.endswith("table")
    }
    found = NativeRecurrent(config, floats, "int8", integers).search(sources, rules)
    rounded = {
        name: integers[name].floats() if name in integers else weights[name] for name in weights
    }
    assert found == NativeRecurrent(config, rounded, "int8").search(sources, rules)


def test_what_the_engine_does_not_have_is_named():
    config, _ = model_of()
    assert missing(config) is None
    other = config.model_copy(update={"attention": "mine"})
    assert missing(other) == "attention = 'mine'"
