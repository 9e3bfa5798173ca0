"""The engine against torch: the same models, the same hypotheses."""

from collections.abc import Sequence
from math import ceil

import numpy as np
import pytest
import torch

from jumok.config import MaskedConfig, TransformerConfig
from jumok.data.pairs.batches import source_batches
from jumok.data.tokenizer import END, START
from jumok.decoding import DecodingOptions, decode
from jumok.engine.blocks import missing_part
from jumok.engine.native import NativeModel
from jumok.engine.searching import SearchRules, Written
from jumok.engine.structures import library
from jumok.engine.transformer import NativeEncoder, NativeTransformer
from jumok.models.encoder_decoder import Transformer
from jumok.models.masked import MaskedLanguageModel
from jumok.parts import PARTS, PartEntry
from tests.parity.torch_weights import roughen

pytestmark = pytest.mark.skipif(library() is None, reason="needs a C compiler")

VOCABULARY = 139
KINDS = {
    "post": {"norm": "post"},
    "pre": {"norm": "pre"},
    "untied": {"tied": "none"},
    "inputs tied": {"tied": "inputs"},
    "target tied": {"tied": "target", "norm": "post"},
    "without biases": {"bias": False},
    "wide heads": {"heads": 3, "head_dim": 32, "value_dim": 16},
    "heads in two groups": {"heads": 11, "head_dim": 64, "positions": "alibi"},
    "heads in two groups, grouped": {"heads": 12, "kv_heads": 4, "head_dim": 64, "value_dim": 32},
    "odd widths": {"dim": 42, "heads": 3, "value_dim": 5, "feedforward": 75},
    "odd widths, post": {"dim": 42, "heads": 3, "feedforward": 75, "norm": "post"},
    "rms": {"norm_kind": "rms"},
    "rms, post, odd": {"norm_kind": "rms", "norm": "post", "dim": 42},
    "gelu": {"activation": "gelu"},
    "silu, post": {"activation": "silu", "norm": "post"},
    "gated relu": {"feedforward_kind": "gated"},
    "gated gelu": {"feedforward_kind": "gated", "activation": "gelu", "feedforward": 53},
    "gated silu": {"feedforward_kind": "gated", "activation": "silu", "bias": False},
    "learned": {"positions": "learned", "max_length": 71},
    "no positions": {"positions": "none"},
    "index": {"positions": "index"},
    "fraction": {"positions": "fraction", "max_length": 71},
    "binary": {"positions": "binary", "max_length": 71},
    "rotary": {"positions": "rotary"},
    "rotary, odd": {"positions": "rotary", "dim": 42, "heads": 3, "rotary_base": 500.0},
    "alibi": {"positions": "alibi"},
    "relative": {"positions": "relative", "decoder_layers": 2},
    "relative, few buckets": {
        "positions": "relative", "relative_buckets": 19, "relative_distance": 11,
    },
    "relative, windows, rms": {"positions": "relative", "window": 3, "norm_kind": "rms"},
    "norm of the embedding": {"embedding_norm": True, "norm": "post", "positions": "learned"},
    "norm of the embedding, odd": {"embedding_norm": True, "dim": 42, "norm_kind": "rms"},
    "learned, beside": {"positions": "learned", "positions_join": "concatenate"},
    "sinusoidal, beside": {"positions_join": "concatenate", "tied": "target"},
    "index, beside": {"positions": "index", "positions_join": "concatenate"},
    "fraction, beside": {"positions": "fraction", "positions_join": "concatenate", "dim": 42},
    "binary, beside": {"positions": "binary", "positions_join": "concatenate"},
    "grouped": {"heads": 4, "kv_heads": 2, "head_dim": 12},
    "one key": {"heads": 4, "kv_heads": 1, "positions": "rotary", "value_dim": 20},
    "grouped, alibi": {"heads": 6, "kv_heads": 3, "positions": "alibi"},
    "dot": {"score": "dot", "head_dim": 4},
    "bilinear": {"score": "bilinear", "head_dim": 4, "kv_heads": 1},
    "cosine": {"score": "cosine", "head_dim": 12},
    "cosine, rotary": {"score": "cosine", "positions": "rotary", "heads": 4, "kv_heads": 2},
    "norms of heads": {"process_heads": ("qk-norm",), "head_dim": 20},
    "norms of heads, rotary": {"process_heads": ("qk-norm",), "positions": "rotary"},
    "windows": {"window": 3, "window_layers": ("window", "whole")},
    "windows, alibi, grouped": {"window": 2, "positions": "alibi", "heads": 4, "kv_heads": 2},
    "recurrence": {"decoder_attention_kind": "ssru", "positions": "sinusoidal-inclusive"},
    "recurrence, odd, one key": {
        "decoder_attention_kind": "ssru", "norm": "post", "dim": 42, "heads": 6, "kv_heads": 1,
        "output_bias": True,
    },
    "scales of heads": {"process_output": ("head-scale",), "head_dim": 12},
    "everything": {
        "norm_kind": "rms", "feedforward_kind": "gated", "activation": "silu", "bias": False,
        "heads": 6, "kv_heads": 2, "head_dim": 10, "value_dim": 7, "feedforward": 61,
        "positions": "rotary", "process_heads": ("qk-norm",), "score": "cosine",
        "process_output": ("head-scale", "head-scale"), "dim": 42,
    },
}  # fmt: skip


def model_of(**keys) -> tuple[TransformerConfig, Transformer]:
    sizes = {"dim": 48, "heads": 3, "feedforward": 80, "encoder_layers": 2, "decoder_layers": 2}
    config = TransformerConfig(**(sizes | keys))
    torch.manual_seed(7)
    model = Transformer(config, VOCABULARY).eval()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.dim() == 1 or "bias.table" in name:  # trained ones are not 1 and 0
                weight.add_(torch.randn_like(weight) * 0.3)
            elif "table" not in name and "score" not in name:
                weight.mul_(3.0)
    return config, model


def engine_of(config: TransformerConfig, model: Transformer, kind="fp32") -> NativeTransformer:
    assert missing_part(config) is None
    weights = {name: tensor.numpy() for name, tensor in model.state_dict().items()}
    return NativeTransformer(config, weights, kind)


def sources_of(*lengths: int) -> list[list[int]]:
    draw = np.random.default_rng(3)
    return [[*draw.integers(4, VOCABULARY, length).tolist(), END] for length in lengths]


def rules_of(options: DecodingOptions, sources: Sequence[Sequence[int]]) -> SearchRules:
    limits = options.limits
    longest = [limits.longest_of(len(source)) for source in sources]
    penalties = options.ranker.penalties(max(longest)).tolist()
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


@pytest.mark.parametrize("keys", KINDS.values(), ids=KINDS)
def test_the_engine_finds_what_torch_finds_with_any_parts(keys):
    agree(keys, OPTIONS["beam"])


@pytest.mark.parametrize("keys", KINDS.values(), ids=KINDS)
def test_states_are_those_of_torch(keys):
    config, model = model_of(**keys)
    sources = sources_of(7, 1, 19)
    for source, found in zip(sources, engine_of(config, model).states(sources), strict=True):
        expected = model.encode(torch.tensor([source]), None).states[0].detach()
        np.testing.assert_allclose(found, expected, atol=1e-4, rtol=0)


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_an_encoder_needs_no_decoder(norm):
    """As of BERT, with widths that are filled up."""
    keys = {"embedding_norm": True, "embedding_scale": False, "norm_epsilon": 1e-3, "norm": norm}
    config = MaskedConfig(dim=42, heads=3, layers=3, feedforward=75, max_length=23, **keys)
    torch.manual_seed(5)
    model = roughen(MaskedLanguageModel(config, VOCABULARY)).eval()
    weights = {name: tensor.numpy() for name, tensor in model.state_dict().items()}
    sources = [*sources_of(7, 1, 19), [VOCABULARY]]  # MASK
    for source, found in zip(sources, NativeEncoder(config, weights).states(sources), strict=True):
        expected = model.encoder(torch.tensor([source]), None)[0].detach()
        np.testing.assert_allclose(found, expected, atol=1e-4, rtol=0)


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("norm", ["pre", "post"])
def test_the_engine_finds_what_torch_finds_with_any_options(norm, options):
    agree({"norm": norm}, options)


def agree(keys, options) -> None:
    """Both find the same tokens; large random weights make large rounding errors."""
    config, model = model_of(**keys)
    sources = sources_of(7, 1, 19, 4, 11)
    with torch.inference_mode():
        expected = by_torch(model, sources, options)
    found = engine_of(config, model).search(sources, rules_of(options, sources))
    assert [each.tokens for each in found] == [each.tokens for each in expected]
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours.log_probabilities, theirs.log_probabilities, atol=1e-4)
    assert len({each.log_probabilities for each in found}) == len(sources)


@pytest.mark.parametrize("kind", ["fp32", "bf16", "int8"])
@pytest.mark.parametrize(
    ("parts", "beam"),
    [
        *(("pre", 1), ("pre", 3), ("everything", 3), ("grouped, alibi", 1), ("fraction", 1)),
        ("heads in two groups", 2),
    ],
)
def test_an_answer_does_not_depend_on_what_shares_its_batch(kind, parts, beam):
    config, model = model_of(**KINDS[parts])
    engine = engine_of(config, model, kind)
    sources = sources_of(7, 1, 19, 4, 11, 3, 23, 8, 15)
    options = DecodingOptions(beam=beam, maximum_ratio=1.5)
    together = engine.search(sources, rules_of(options, sources))
    for size in (1, 2, 5):
        for first in range(0, len(sources), size):
            some = sources[first : first + size]
            assert engine.search(some, rules_of(options, some)) == together[first : first + size]


@pytest.mark.parametrize(("kind", "apart"), [("bf16", 0.05), ("int8", 0.15)])
def test_fewer_bits_change_the_probabilities_little(kind, apart):
    made = model_of(norm="post")
    assert_rounded_little(engine_of(*made), engine_of(*made, kind), apart)


def assert_rounded_little(exact: NativeModel, rounded: NativeModel, apart: float) -> None:
    sources = sources_of(7, 12, 19)
    rules = rules_of(DecodingOptions(beam=1, maximum_length=1), sources)
    found = exact.search(sources, rules), rounded.search(sources, rules)
    for one, other in zip(*found, strict=True):
        assert one.tokens == other.tokens
        assert 0 < abs(one.log_probabilities[0] - other.log_probabilities[0]) < apart


@pytest.mark.parametrize(
    ("keys", "what"),
    [
        ({"score": "additive"}, "score = 'additive'"),
        ({"score_cap": 30.0}, "score_cap = 30.0"),
        ({"sinks": True}, "sinks = True"),
        ({"logit_cap": 15.0}, "logit_cap = 15.0"),
        ({"attention_kind": "linear"}, "attention_kind = 'linear'"),
        ({"value_residual": True}, "value_residual = True"),
        ({"experts": 4}, "experts = 4"),
        ({"activation": "relu2"}, "activation = 'relu2'"),
        ({"process_output": ("head-gate",)}, "process_output = ('head-gate',)"),
        ({"score": "bilinear", "positions": "rotary"}, "score = 'bilinear' with rotary positions"),
        (
            {"score": "bilinear", "process_heads": ("qk-norm",)},
            "score = 'bilinear' with process_heads",
        ),
        ({"process_heads": ("qk-norm", "qk-norm")}, "process_heads = ('qk-norm', 'qk-norm')"),
    ],
)
def test_what_the_engine_does_not_have_is_named(keys, what):
    config, _ = model_of(**keys)
    assert missing_part(config) == what


@pytest.mark.parametrize(
    ("role", "key"),
    [
        ("norm", "norm_kind"),
        ("feedforward", "feedforward_kind"),
        ("score", "score"),
        ("positions", "positions"),
        ("head_process", "process_heads"),
        ("output_process", "process_output"),
        ("attention", "attention_kind"),
    ],
)
def test_a_part_from_outside_is_refused(monkeypatch, role, key):
    monkeypatch.setitem(PARTS[role], "mine", PartEntry("somewhere:Mine"))
    value = ("mine",) if key.startswith("process") else "mine"
    assert missing_part(TransformerConfig(**{key: value})) == f"{key} = {value!r}"
