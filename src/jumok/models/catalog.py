"""Every architecture by name: the `model.kind` of a recipe."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from torch import nn

from jumok.config.captioner import CaptionerConfig
from jumok.config.causal import CausalConfig
from jumok.config.masked import MaskedConfig, TextClassifierConfig
from jumok.config.pictures import ImageClassifierConfig
from jumok.config.recurrent import RecurrentConfig
from jumok.config.section import ModelSection
from jumok.config.transformer import TransformerConfig
from jumok.models.captioner import Captioner
from jumok.models.causal import CausalLanguageModel
from jumok.models.classifier import TextClassifier
from jumok.models.encoder_decoder import Transformer
from jumok.models.image_classifier import ImageClassifier
from jumok.models.masked import MaskedLanguageModel
from jumok.models.recurrent import RecurrentModel


@dataclass(frozen=True)
class Sizes:
    """What the data decides about a model.

    Attributes:
        vocabulary: pieces of the tokenizer; 0 where there is none.
        labels: what a classifier chooses from; 0 where nothing is classified.
    """

    vocabulary: int = 0
    labels: int = 0


CATALOG: dict[str, tuple[type[ModelSection], Callable[[Any, Sizes], nn.Module]]] = {
    "transformer": (TransformerConfig, lambda config, sizes: Transformer(config, sizes.vocabulary)),
    "captioner": (CaptionerConfig, lambda config, sizes: Captioner(config, sizes.vocabulary)),
    "image-classifier": (
        ImageClassifierConfig,
        lambda config, sizes: ImageClassifier(config, sizes.labels),
    ),
    "causal-lm": (
        CausalConfig,
        lambda config, sizes: CausalLanguageModel(config, sizes.vocabulary),
    ),
    "masked-lm": (
        MaskedConfig,
        lambda config, sizes: MaskedLanguageModel(config, sizes.vocabulary),
    ),
    "text-classifier": (
        TextClassifierConfig,
        lambda config, sizes: TextClassifier(config, sizes.vocabulary, sizes.labels),
    ),
    "rnn": (RecurrentConfig, lambda config, sizes: RecurrentModel(config, sizes.vocabulary)),
}


def build(config: ModelSection, sizes: Sizes) -> nn.Module:
    """The untrained model that a recipe's [model] section describes."""
    return CATALOG[config.kind][1](config, sizes)


def model_config(values: Mapping[str, Any]) -> ModelSection:
    """A [model] section that a bundle kept.

    Raises:
        ValidationError: pydantic's: keys or values that this kind does not have.
    """
    section, _ = CATALOG.get(str(values.get("kind")), (TransformerConfig, None))
    return section.model_validate(values)
