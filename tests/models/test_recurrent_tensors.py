"""The tensors of an RNN by its config are those of the built model."""

import pytest

from jumok.config.recurrent import RecurrentConfig
from jumok.models.catalog import DataSizes, build
from jumok.models.tensors import recurrent_tensors

VARIANTS = [
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


@pytest.mark.parametrize("keys", VARIANTS, ids=str)
def test_names_shapes_and_ties_are_those_of_the_built_model(keys):
    config = RecurrentConfig(dim=18, embedding=7, **keys)
    state = build(config, DataSizes(vocabulary=31)).state_dict()
    found = recurrent_tensors(config, 31)
    assert found is not None
    assert found.shapes == {name: tuple(tensor.shape) for name, tensor in state.items()}
    places: dict[int, list[str]] = {}
    for name, tensor in state.items():
        places.setdefault(tensor.data_ptr(), []).append(name)
    assert sorted(found.tied) == sorted(tuple(each) for each in places.values() if each[1:])
