"""Every model that writes a sequence from another, or from an image; what holds for one must hold
for all.

A new kind adds its variants to MODELS, and the tests of test_sequence_to_sequence.py run over it.
"""

import torch

from jumok.config import CaptionerConfig, RecurrentConfig
from jumok.config.section import ModelSection
from jumok.models.catalog import DataSizes
from jumok.models.catalog import build as build_model
from jumok.models.memory import Memory, SequenceToSequence
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
    "copied": {
        "attention": "none",
        "first_state": "copy",
        "readout": False,
        "output_bias": True,
        "embedding": 14,
        "tied": "none",
    },
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


CNN = {"kind": "cnn", "size": 8, "patch": 1, "channels": [8, 16], "blocks": 1, "dropout": 0.5}
GIVEN = {"kind": "given", "rows": 3, "columns": 5, "dim": 7}
STACK = {
    "kind": "transformer",
    "dim": 12,
    "heads": 3,
    "feedforward": 29,
    "layers": 2,
    "dropout": 0.5,
}
RNN = {"kind": "rnn", "cell": "lstm", "dim": 12, "embedding": 7, "layers": 2, "dropout": 0.5}
READER = {"layers": 2, "heads": 2, "feedforward": 17, "dropout": 0.5}
CAPTIONERS = {
    "pixels": {"encoder": CNN},
    "features": {"encoder": GIVEN},
    "cells that look": {"encoder": CNN, "reader": READER},
    "rnn over cells that look": {"encoder": GIVEN, "decoder": RNN, "reader": READER},
    "one vector": {"encoder": CNN, "memory": "one"},
    "one vector of features": {"encoder": GIVEN, "memory": "one"},
    "rnn": {"encoder": GIVEN, "decoder": RNN},
    "rnn without a gate": {"encoder": GIVEN, "decoder": {**RNN, "gate": False, "cell": "rnn"}},
    "rnn of one vector": {"encoder": GIVEN, "memory": "one", "decoder": {**RNN, "cell": "gru"}},
}


def transformer(variant: str) -> ModelSection:
    return variants.config(variant)


def recurrent(variant: str) -> ModelSection:
    return RecurrentConfig.model_validate(
        {"dim": 14, "embedding": 13, **ROUGH, **RECURRENT[variant]}
    )


def captioner(variant: str) -> ModelSection:
    return CaptionerConfig.model_validate({"decoder": STACK, **CAPTIONERS[variant]})


MODELS: dict[str, ModelSection] = {
    **{f"transformer {name}": transformer(name) for name in variants.VARIANTS},
    **{f"rnn {name}": recurrent(name) for name in RECURRENT},
    **{f"captioner {name}": captioner(name) for name in CAPTIONERS},
}


def build(name: str) -> SequenceToSequence:
    """A rough model in evaluation mode."""
    torch.manual_seed(1)
    model = build_model(MODELS[name], DataSizes(vocabulary=VOCABULARY))
    assert isinstance(model, SequenceToSequence)
    return roughen(model).eval()


SOURCE = torch.tensor(
    [[5, 6, 7, 8, 9, 10, 3], [11, 12, 13, 3, 0, 0, 0], [14, 15, 16, 17, 18, 3, 0]]
)
LENGTHS = (7, 4, 6)
TARGET = torch.tensor([[2, 21, 22, 23, 24], [2, 25, 26, 27, 28], [2, 29, 30, 19, 20]])


def sources(name: str) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Three sentences with padding, or three images; and what of them is real."""
    if not name.startswith("captioner"):
        return SOURCE.clone(), torch.arange(7) < torch.tensor(LENGTHS)[:, None]
    torch.manual_seed(2)
    if CAPTIONERS[name.removeprefix("captioner ")]["encoder"] is GIVEN:
        return torch.randn(3, 15, 7), None
    return torch.randint(256, (3, 3, 8, 8), dtype=torch.uint8), None


def alone(name: str, model: SequenceToSequence, row: int) -> Memory:
    """What is read of one image, or of one sentence without its padding."""
    source, allowed = sources(name)
    one = source[row : row + 1]
    return model.encode(one if allowed is None else one[:, : LENGTHS[row]])


def assert_close(found: torch.Tensor, expected: torch.Tensor) -> None:
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=0)
