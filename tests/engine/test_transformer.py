"""The engine against torch: the same models, the same hypotheses."""

from collections.abc import Sequence
from math import ceil

import numpy as np
import pytest
import torch

from jumok.config import TransformerConfig
from jumok.data.pairs.batches import source_batches
from jumok.data.tokenizer import END, START
from jumok.decoding import DecodingOptions, decode
from jumok.engine.searching import SearchRules, Written
from jumok.engine.structures import library
from jumok.engine.transformer import NativeTransformer, missing
from jumok.models.encoder_decoder import Transformer
from jumok.models.memory import Memory

pytestmark = pytest.mark.skipif(library() is None, reason="needs a C compiler")

VOCABULARY = 139
KINDS = {
    "post": {"norm": "post"},
    "pre": {"norm": "pre"},
    "learned": {"positions": "learned", "max_length": 71},
    "no positions": {"positions": "none"},
    "untied": {"tied": "none"},
    "target tied": {"tied": "target", "norm": "post"},
    "without biases": {"bias": False},
    "wide heads": {"heads": 3, "head_dim": 32, "value_dim": 16},
}


def model_of(**keys) -> tuple[TransformerConfig, Transformer]:
    sizes = {"dim": 48, "heads": 3, "feedforward": 80, "encoder_layers": 2, "decoder_layers": 2}
    config = TransformerConfig(**(sizes | keys))
    torch.manual_seed(7)
    model = Transformer(config, VOCABULARY).eval()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.dim() == 1:  # gains and biases of training are not 1 and 0
                weight.add_(torch.randn_like(weight) * 0.3)
            elif "table" not in name:
                weight.mul_(3.0)
    return config, model


def engine_of(config: TransformerConfig, model: Transformer, kind="fp32") -> NativeTransformer:
    assert missing(config) is None
    weights = {name: tensor.numpy() for name, tensor in model.state_dict().items()}
    joins = model.encoder.embedding.positions, model.decoder.embedding.positions
    tables = [each.encoding(0, 70).detach().numpy() for each in joins if each is not None]
    places = (tables[0], tables[1]) if tables else None
    return NativeTransformer(config, weights, places, kind)


def sources_of(*lengths: int) -> list[list[int]]:
    draw = np.random.default_rng(3)
    return [[*draw.integers(4, VOCABULARY, length).tolist(), END] for length in lengths]


def rules_of(options: DecodingOptions, sources: Sequence[Sequence[int]]) -> SearchRules:
    limits = options.limits()
    lengths = torch.ones(len(sources), max(map(len, sources)), dtype=torch.bool)
    for row, source in enumerate(sources):
        lengths[row, len(source) :] = False
    memory = Memory(torch.zeros(*lengths.shape, 1), lengths)
    longest = limits.longest(memory).tolist()
    penalties = options.ranker().penalties(max(longest)).double().tolist()
    patience = options.patience
    enough = 0 if patience is None else max(1, ceil(options.beam * patience))
    return SearchRules(
        options.beam, START, END, limits.forbidden, options.minimum_length, longest, penalties,
        enough,
    )  # fmt: skip


def by_torch(model, sources, options) -> list[Written]:
    (batch,) = source_batches([source[:-1] for source in sources], sentences=len(sources))
    memory = model.encode(batch.tokens, batch.allowed)
    found = decode(model.decoder, memory, options)
    ordered = [Written((), ())] * len(sources)
    for row, (best,) in zip(batch.rows, found, strict=True):
        ordered[row] = Written(best.tokens, best.token_log_probabilities)
    return ordered


OPTIONS = {
    "greedy": DecodingOptions(beam=1, maximum_ratio=1.5),
    "beam": DecodingOptions(beam=4, maximum_ratio=1.5),
    "no patience": DecodingOptions(beam=3, maximum_length=9, patience=None, length_penalty=0.4),
    "at least": DecodingOptions(beam=3, minimum_length=6, maximum_length=8),
}


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
    config, model = model_of()
    engine = engine_of(config, model, kind)
    sources = sources_of(7, 1, 19, 4, 11, 3, 23, 8, 15)
    options = DecodingOptions(beam=beam, maximum_ratio=1.5)
    together = engine.search(sources, rules_of(options, sources))
    for source, expected in zip(sources, together, strict=True):
        assert engine.search([source], rules_of(options, [source])) == [expected]


@pytest.mark.parametrize(("kind", "apart"), [("bf16", 0.05), ("int8", 0.15)])
def test_fewer_bits_change_the_probabilities_little(kind, apart):
    config, model = model_of(norm="post")
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
        ({"positions": "rotary"}, "positions = 'rotary'"),
        ({"norm_kind": "rms"}, "norm_kind = 'rms'"),
        ({"heads": 4}, "head_dim = 12, which is no multiple of 16"),
        ({"kv_heads": 1}, "kv_heads = 1"),
    ],
)
def test_what_the_engine_does_not_have_is_named(keys, what):
    config, _ = model_of(**keys)
    assert missing(config) == what
