"""The tensors of a model by its config are those of the built model."""

import pytest

from jumok.config import TransformerConfig
from jumok.config.causal import CausalConfig
from jumok.config.recurrent import RecurrentConfig
from jumok.config.section import ModelSection
from jumok.models.catalog import DataSizes, build
from jumok.models.tensors import Tensors, causal_tensors_of, recurrent_tensors, tensors_of
from jumok.parts import PARTS, PartEntry

VARIANTS = [
    {},
    {"norm": "post", "bias": False},
    {"tied": "target", "norm_kind": "rms"},
    {"output_bias": True, "embedding_scale": False},
    {"tied": "none", "feedforward_kind": "gated"},
    {"positions": "learned", "max_length": 11},
    {"positions": "rotary", "kv_heads": 1},
    {"bias": False, "projection_bias": True, "attention_kind": "differential", "heads": 2},
    {"projection_bias": False, "positions": "rotary", "rotary_dim": 4},
    {"attention_kind": "latent", "projection_bias": False},
    {"positions_join": "concatenate", "head_dim": 7, "value_dim": 5},
    {"positions": "alibi", "score": "dot", "encoder_layers": 3},
    {"positions": "relative", "encoder_layers": 3, "relative_buckets": 19},
    {"embedding_norm": True, "tied": "inputs"},
    {"positions": "index", "positions_join": "concatenate", "score": "bilinear"},
    {"positions": "fraction", "score": "cosine"},
    {"positions": "binary", "positions_join": "concatenate", "max_length": 37},
    {"process_heads": ("qk-norm",), "process_output": ("head-scale", "head-scale")},
    {"score": "additive", "score_cap": 30.0},
    {"sinks": True, "value_residual": True, "process_output": ("head-gate", "element-gate")},
    {"experts": 3, "feedforward_kind": "gated"},
    {"attention_kind": "linear", "kv_heads": 1},
    {"attention_kind": "differential", "heads": 2, "kv_heads": 2},
    {"attention_kind": "latent", "positions": "rotary", "head_dim": 8},
    {"attention_kind": "latent", "query_latent_dim": 5, "bias": False},
    {"decoder_attention_kind": "ssru", "bias": False, "positions": "sinusoidal-inclusive"},
]
TRANSLATORS_ONLY = {"tied", "encoder_layers", "decoder_attention_kind"}


@pytest.mark.parametrize("keys", VARIANTS, ids=str)
def test_names_shapes_and_ties_are_those_of_the_built_model(keys):
    sizes = {"dim": 18, "heads": 3, "encoder_layers": 1, "decoder_layers": 2, "feedforward": 13}
    config = TransformerConfig(**(sizes | keys))
    check(config, tensors_of(config, 31))


@pytest.mark.parametrize(
    "keys", [each for each in VARIANTS if not each.keys() & TRANSLATORS_ONLY], ids=str
)
@pytest.mark.parametrize("tied", [True, False])
def test_those_of_a_language_model_too(keys, tied):
    sizes = {"dim": 18, "heads": 3, "layers": 2, "feedforward": 13, "tied": tied}
    sizes["positions"] = "sinusoidal"
    config = CausalConfig(**(sizes | keys))
    check(config, causal_tensors_of(config, 31))


RECURRENT = [
    {},
    {"gate": True, "cell": "rnn", "tied": "target"},
    {"coverage": True, "cell": "lstm", "decoder_layers": 2},
    {"order": "luong", "attention": "bilinear", "encoder_layers": 2, "tied": "none"},
    {"order": "luong", "attention": "dot", "bidirectional": False},
    {"order": "luong", "input_feeding": True, "decoder_layers": 2},
    {"order": "gnmt", "decoder_layers": 3, "encoder_layers": 2, "cell": "lstm"},
    {"attention": "cosine"},
    {"attention": "scaled-dot", "context": "every-step"},
    {"attention": "none", "order": "luong", "cell": "lstm"},
    {"attention": "none", "context": "every-step", "decoder_layers": 2},
]


@pytest.mark.parametrize("keys", RECURRENT, ids=str)
def test_those_of_an_rnn_too(keys):
    config = RecurrentConfig(dim=18, embedding=7, **keys)
    check(config, recurrent_tensors(config, 31))


def check(config: ModelSection, found: Tensors | None) -> None:
    state = build(config, DataSizes(vocabulary=31)).state_dict()
    assert found is not None
    assert found.shapes == {name: tuple(tensor.shape) for name, tensor in state.items()}
    places: dict[int, list[str]] = {}
    for name, tensor in state.items():
        places.setdefault(tensor.data_ptr(), []).append(name)
    assert sorted(found.tied) == sorted(tuple(each) for each in places.values() if each[1:])


@pytest.mark.parametrize(
    ("role", "key"),
    [
        ("score", "score"),
        ("attention", "attention_kind"),
        ("norm", "norm_kind"),
        ("feedforward", "feedforward_kind"),
        ("positions", "positions"),
        ("head_process", "process_heads"),
        ("output_process", "process_output"),
    ],
)
def test_those_of_a_part_that_says_nothing_are_not_known(monkeypatch, role, key):
    monkeypatch.setitem(PARTS[role], "mine", PartEntry("somewhere:Mine"))
    keys = {key: ("mine",) if key.startswith("process") else "mine"}
    assert tensors_of(TransformerConfig(dim=18, heads=3, **keys), 31) is None
    assert causal_tensors_of(CausalConfig(dim=18, heads=3, **keys), 31) is None
