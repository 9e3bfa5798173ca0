"""Every model that writes one sequence from another; what holds for one must hold for all.

A new kind adds its variants to MODELS, and the tests of test_sequence_to_sequence.py run over it.
"""

import torch

from jumok.config import RecurrentConfig
from jumok.config.section import ModelSection
from jumok.models.catalog import DataSizes
from jumok.models.catalog import build as build_model
from jumok.models.memory import SequenceToSequence
from tests.models import variants
from tests.parity.torch_weights import roughen

VOCABULARY = 31
ROUGH = {"dropout": 0.5, "attention_dropout": 0.5, "word_dropout": 0.5}  # and none of it may show
RECURRENT = {
    "gru additive bahdanau": {},
    "lstm": {"cell": "lstm", "encoder_layers": 2, "decoder_layers": 2},
    "vanilla": {"cell": "rnn", "decoder_layers": 3},
    "one direction": {"bidirectional": False, "dim": 11, "tied": "target"},
    "first state": {"attention": "none", "cell": "lstm", "decoder_layers": 2},
    "every step": {"attention": "none", "context": "every-step", "bidirectional": False},
    "luong dot": {"attention": "dot", "order": "luong", "tied": "none"},
    "luong scaled dot": {"attention": "scaled-dot", "order": "luong", "cell": "lstm"},
    "luong bilinear": {"attention": "bilinear", "order": "luong", "encoder_layers": 2},
    "luong additive kernels": {"order": "luong", "dim": 48, "embedding": 32},
    "luong coverage": {"order": "luong", "coverage": True},
    "gnmt": {"order": "gnmt", "decoder_layers": 3, "cell": "lstm", "dropout": 0.2},
    "gnmt coverage": {"order": "gnmt", "decoder_layers": 2, "coverage": True},
    "input feeding": {"attention": "bilinear", "order": "luong", "input_feeding": True},
    "bahdanau dot": {"attention": "dot", "cell": "rnn"},
    "bahdanau cosine": {"attention": "cosine"},
    "bahdanau coverage kernels": {"coverage": True, "dim": 32, "embedding": 16},
}


def transformer(variant: str) -> ModelSection:
    return variants.config(variant)


def recurrent(variant: str) -> ModelSection:
    return RecurrentConfig.model_validate(
        {"dim": 14, "embedding": 13, **ROUGH, **RECURRENT[variant]}
    )


MODELS: dict[str, ModelSection] = {
    **{f"transformer {name}": transformer(name) for name in variants.VARIANTS},
    **{f"rnn {name}": recurrent(name) for name in RECURRENT},
}


def build(name: str) -> SequenceToSequence:
    """A rough model in evaluation mode."""
    torch.manual_seed(1)
    model = build_model(MODELS[name], DataSizes(vocabulary=VOCABULARY))
    assert isinstance(model, SequenceToSequence)
    return roughen(model).eval()
