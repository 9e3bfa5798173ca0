"""One forward pass of each kind of model, by shapes alone: what training computes of a batch."""

from dataclasses import dataclass

import torch
from torch import nn

from jumok.attention.masks import Documents
from jumok.config import Config
from jumok.config.captioner import CnnConfig
from jumok.config.families import (
    CaptionConfig,
    ImageClassificationConfig,
    MaskedLanguageModelConfig,
)
from jumok.errors import ConfigError
from jumok.kernels.linear import Projection
from jumok.models.captioner import CaptionerModel
from jumok.models.causal import CausalLanguageModel
from jumok.models.classifier import TextClassifier
from jumok.models.image_classifier import ImageClassifier
from jumok.models.masked import MaskedLanguageModel
from jumok.models.memory import SequenceToSequence
from jumok.shapes import Tensor


@dataclass(frozen=True)
class Lengths:
    """The tokens, END included, of a text and of its source.

    A classifier and a masked language model read `target` tokens; images count as one.
    """

    source: int
    target: int


@dataclass(frozen=True)
class ForwardPass:
    """A forward pass.

    Attributes:
        states: of which the logits of the vocabulary are made, or the logits of labels.
        output: what makes them; None: they are logits.
        targets: that are learned from it.
    """

    states: Tensor
    output: Projection | None
    targets: int


def forward_pass(model: nn.Module, config: Config, lengths: Lengths, rows: int) -> ForwardPass:
    """The pass of so many texts, or images.

    Raises:
        ConfigError: nothing is known of this kind of model.
    """
    if isinstance(model, ImageClassifier):
        assert isinstance(config, ImageClassificationConfig)
        sizes = config.model
        return ForwardPass(
            model(_pixels(rows, sizes.colours, sizes.height, sizes.width)), None, rows
        )
    if isinstance(model, CaptionerModel):
        assert isinstance(config, CaptionConfig)
        return _captions(model, config, lengths.target, rows)
    texts, targets = _tokens(rows, lengths.target), rows * lengths.target
    if isinstance(model, SequenceToSequence):
        memory = model.encode(_tokens(rows, lengths.source))
        return ForwardPass(model.decoder.hidden(memory, texts), model.decoder.output, targets)
    if isinstance(model, CausalLanguageModel):
        return ForwardPass(model.hidden(texts), model.decoder.output, targets)
    if isinstance(model, MaskedLanguageModel):
        assert isinstance(config, MaskedLanguageModelConfig)
        states = model.encoder(texts).flatten(0, 1)
        masked = states[: round(config.masking.share * targets)]
        return ForwardPass(model.head.transform(masked), model.head.output, targets)
    if isinstance(model, TextClassifier):
        return ForwardPass(model(texts, torch.ones_like(texts, dtype=torch.bool)), None, targets)
    raise ConfigError(
        "the passes of this kind of model are not known.",
        expected="a model that translates, captions, classifies, or writes or fills texts",
        got=config.model.kind,
    )


def _captions(model: CaptionerModel, config: CaptionConfig, length: int, rows: int) -> ForwardPass:
    """An image and the captions that share a batch with it, as in `objectives/captions.py`."""
    encoder, captions = config.model.encoder, config.data.captions_per_picture
    if isinstance(encoder, CnnConfig):
        memory = model.encode(_pixels(rows, 3, encoder.size, encoder.size))
    else:
        memory = model.encode(torch.zeros(rows, encoder.grid[0] * encoder.grid[1], encoder.width))
    if model.decoder.packs:
        numbers = torch.arange(captions).repeat_interleave(length).repeat(rows, 1)
        tokens, shared = torch.zeros_like(numbers), Documents(numbers, longest=length)
        states = model.decoder.hidden(memory, tokens, shared)
    else:
        memory = memory.select(torch.arange(rows).repeat_interleave(captions))
        states = model.decoder.hidden(memory, _tokens(rows * captions, length))
    return ForwardPass(states, model.decoder.output, rows * captions * length)


def _tokens(rows: int, length: int) -> Tensor:
    return torch.zeros(rows, length, dtype=torch.long)


def _pixels(*shape: int) -> Tensor:
    return torch.zeros(shape, dtype=torch.uint8)
