"""What is tried on the stand-in: an update of every kind of model, and searches.

A new section [model] is found in the tables, and is tried with its defaults; so is a new part of a
block. A new task needs a line in TASKS.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn

from jumok.config import RecurrentConfig, TrainingConfig, TransformerConfig
from jumok.config.captioner import CaptionerConfig
from jumok.config.causal import CausalConfig
from jumok.config.families import sections_of
from jumok.config.masked import MaskedConfig, TextClassifierConfig
from jumok.config.pictures import ImageClassifierConfig
from jumok.config.section import ModelSection
from jumok.data.captions.batches import CaptionedPictures
from jumok.data.pairs.batches import collate
from jumok.data.pairs.packing import PackedShape, packed_batch
from jumok.data.pictures.batches import PictureBatch
from jumok.data.texts.batches import LabelledBatch, MaskedBatch
from jumok.data.texts.windows import TextBatch, one_shape
from jumok.kinds import KINDS
from jumok.models.catalog import DataSizes, build
from jumok.parts import names
from jumok.training.learner import Learner
from jumok.training.objectives import (
    ConsistentTranslation,
    captioning,
    guess_masked,
    next_token,
    picture_classification,
    text_classification,
    translation,
)
from jumok.training.task import MicroBatch, Objective

SIZES = DataSizes(vocabulary=31, labels=3)
DROPPED = {"dropout": 0.3, "attention_dropout": 0.2, "word_dropout": 0.1}
IDS = torch.tensor([[2, 9, 29, 11, 3], [2, 29, 3, 0, 0]])


@dataclass(frozen=True)
class Case:
    """A model, and what it is trained by."""

    section: ModelSection
    objective: Objective
    batches: Callable[[ModelSection], list[MicroBatch]]


def pairs(section: ModelSection) -> list[MicroBatch]:
    """Two micro-batches, one of them with padded sources."""
    even = collate([[4, 5, 6], [7, 8, 9]], [[10, 11], [12]])
    return [even, collate([[4, 5, 6, 7], [8]], [[10, 11, 12], [13]])]


def packed_pairs(section: ModelSection) -> list[MicroBatch]:
    """Two micro-batches of one shape, whose sentences share a row."""
    shape = PackedShape(source=16, target=14, pairs=4, longest=6)
    sentences = [[[4, 5, 6], [7]], [[10, 11], [12, 13, 14, 15]], [[8]], [[16, 17, 18]]]
    sides = [[np.array(each, dtype=np.int64) for each in side] for side in sentences]
    return [packed_batch(*sides[:2], shape), packed_batch(*sides[2:], shape)]


def texts_of_one_shape(section: ModelSection) -> list[MicroBatch]:
    """`texts`, filled up to one shape."""
    parts = np.array([[0, 0, 1, 1, 1], [0, 0, 0, -1, -1]])
    return [
        one_shape(batch, parts, rows=3, context=7, most=4)
        for batch in texts(section)
        if isinstance(batch, TextBatch)
    ]


def texts(section: ModelSection) -> list[MicroBatch]:
    """A row of one document, and rows of several."""
    following = torch.tensor([[9, 29, 11, 3, 0], [29, 3, 0, 0, 0]])
    documents = torch.tensor([[0, 0, 1, 1, 1], [0, 0, 0, -1, -1]])
    return [TextBatch(IDS, following, None, 6), TextBatch(IDS, following, documents, 6)]


def masked(section: ModelSection) -> list[MicroBatch]:
    """One text is padded."""
    chosen = torch.zeros_like(IDS, dtype=torch.bool)
    chosen[0, 2] = chosen[1, 1] = True
    return [MaskedBatch(IDS, IDS != 0, chosen, torch.tensor([10, 7]), 8)]


def labelled(section: ModelSection) -> list[MicroBatch]:
    """One text is padded."""
    return [LabelledBatch(IDS, IDS != 0, torch.tensor([2, 0]), 8)]


def pictures(section: ModelSection) -> list[MicroBatch]:
    """Noise."""
    assert isinstance(section, ImageClassifierConfig)
    shape = (2, section.colours, section.height, section.width)
    pixels = torch.arange(2 * section.colours * section.height * section.width) % 251
    return [PictureBatch(pixels.view(shape).to(torch.uint8), torch.tensor([2, 0]))]


def captions(section: ModelSection) -> list[MicroBatch]:
    """Noise, and two captions of one of the images."""
    assert isinstance(section, CaptionerConfig)
    side = section.encoder.size
    pixels = (np.arange(2 * 3 * side * side) % 251).reshape(2, 3, side, side).astype(np.uint8)
    data = CaptionedPictures(pixels, [[[5, 6], [7]], [[8, 9, 10]]], "noise")
    return [data.batch([(0, [0, 1]), (1, [0])])]


TASKS: dict[str, tuple[Objective, Callable[[ModelSection], list[MicroBatch]]]] = {
    "translation": (translation, pairs),
    "captioning": (captioning, captions),
    "image-classification": (picture_classification, pictures),
    "language-model": (next_token, texts),
    "text-classification": (text_classification, labelled),
    "masked-lm": (guess_masked, masked),
}

STACK = {"dim": 48, "heads": 3, "feedforward": 32, "feedforward_dropout": 0.2, **DROPPED}
RNN = {"dim": 16, "embedding": 16, **DROPPED}
CNN = {"kind": "cnn", "size": 8, "patch": 2, "channels": [8], "blocks": 1}
SMALL: dict[type[ModelSection], dict[str, Any]] = {
    TransformerConfig: STACK | {"encoder_layers": 1, "decoder_layers": 2},
    RecurrentConfig: RNN,
    CaptionerConfig: {"encoder": CNN, "decoder": {"kind": "transformer", "layers": 2, **STACK}},
    CausalConfig: STACK | {"layers": 2},
    MaskedConfig: STACK | {"layers": 1},
    TextClassifierConfig: STACK | {"layers": 1},
    ImageClassifierConfig: {"height": 8, "width": 8, "channels": (8, 16), "dropout": 0.2},
}
"""Sizes that are quick; what has none here is tried as large as it is by default."""

PART_KEYS = {
    "norm": "norm_kind",
    "feedforward": "feedforward_kind",
    "score": "score",
    "head_process": "process_heads",
    "output_process": "process_output",
}
VARIANTS: dict[type[ModelSection], dict[str, dict[str, Any]]] = {
    TransformerConfig: {
        **{f"positions {name}": {"positions": name} for name in [*names("positions"), "none"]},
        "post-norm, grouped queries": {"norm": "post", "kv_heads": 1},
        **{
            f"{role} {name}": {key: [name] if key.startswith("process_") else name}
            for role, key in PART_KEYS.items()
            for name in names(role)
        },
    },
    RecurrentConfig: {
        "without attention": {"attention": "none"},
        "every step": {"attention": "none", "context": "every-step", "cell": "lstm"},
        "luong": {"order": "luong", "attention": "dot", "input_feeding": True, "cell": "rnn"},
        "gnmt coverage": {"order": "gnmt", "decoder_layers": 2, "coverage": True, "cell": "lstm"},
    },
    CaptionerConfig: {
        "rnn": {"decoder": {"kind": "rnn", **RNN}, "doubly_stochastic": 1.0},
        "one vector": {"memory": "one"},
        "reader": {"reader": {"layers": 1, "feedforward": 32, "heads": 3}},
    },
    CausalConfig: {"positions alibi": {"positions": "alibi"}},
    ImageClassifierConfig: {
        "attention": {"attention_after": (1,), "attention_dropout": 0.2, "attention_heads": 2},
    },
    TextClassifierConfig: {"first": {"pooling": "first"}},
}


PACKED: dict[str, dict[str, Any]] = {
    "": {},
    "fused": {"attention_dropout": 0.0},
    "windows, grouped queries": {"window": 2, "kv_heads": 1, "attention_dropout": 0.0},
    "fractions": {"positions": "fraction"},
    "linear": {"attention_kind": "linear"},
    "sinks": {"sinks": True},
}
"""What is tried with sentences that share a row, too."""


def training() -> Iterator[tuple[str, Case]]:
    """An update of every kind of model, and of the variants that compute otherwise."""
    for task, kind in KINDS.items():
        if kind.recipe is None:
            continue
        objective, batches = TASKS[task]
        for section in sections_of(kind.entry("recipe")):
            for name, values in {"": {}, **VARIANTS.get(section, {})}.items():
                config = section.model_validate(SMALL.get(section, {}) | values)
                title = f"{config.kind} {name}".strip()
                yield title, Case(config, objective, batches)
    plain = TransformerConfig.model_validate(SMALL[TransformerConfig])
    yield "transformer r-drop", Case(plain, ConsistentTranslation(1.0), pairs)
    yield "packed transformer r-drop", Case(plain, ConsistentTranslation(1.0), packed_pairs)
    for name, values in PACKED.items():
        config = TransformerConfig.model_validate(SMALL[TransformerConfig] | values)
        yield f"packed transformer {name}".strip(), Case(config, translation, packed_pairs)
    writer = CausalConfig.model_validate(SMALL[CausalConfig])
    yield "packed causal-lm", Case(writer, next_token, texts_of_one_shape)


def model_of(case: Case) -> nn.Module:
    """The model, the same each time."""
    torch.manual_seed(1)
    return build(case.section, SIZES)


def learner_of(case: Case, model: nn.Module, **options: object) -> Learner:
    """Its training, with everything that an update does."""
    config = TrainingConfig(clip=0.1, optimizer="muon", weight_decay=0.1, **options)
    return Learner(model, case.objective, config, 5, torch.float32)


DECODED = (
    "transformer", "transformer positions rotary", "transformer positions alibi", "rnn",
    "rnn without attention", "rnn gnmt coverage", "captioner", "captioner rnn", "causal-lm",
)  # fmt: skip
"""The models whose decoding is tried, too."""
