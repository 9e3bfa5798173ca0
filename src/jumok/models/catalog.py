"""Builds every architecture from its [model] section."""

from dataclasses import dataclass

from torch import nn

from jumok.config.captioner import CaptionerConfig
from jumok.config.causal import CausalConfig
from jumok.config.families import sections_of
from jumok.config.masked import MaskedConfig, TextClassifierConfig
from jumok.config.pictures import ImageClassifierConfig
from jumok.config.recurrent import RecurrentConfig
from jumok.config.section import ModelSection
from jumok.config.transformer import TransformerConfig
from jumok.errors import ModelError
from jumok.kinds import KINDS
from jumok.models.captioner import CaptionerModel
from jumok.models.causal import CausalLanguageModel
from jumok.models.classifier import TextClassifier
from jumok.models.encoder_decoder import Transformer
from jumok.models.image_classifier import ImageClassifier
from jumok.models.masked import MaskedLanguageModel
from jumok.models.recurrent import RecurrentModel
from jumok.models.size import check_memory


@dataclass(frozen=True)
class DataSizes:
    """The sizes of a model that depend on the data.

    Attributes:
        vocabulary: the size of the tokenizer's vocabulary; 0 where there is none.
        labels: the number of a classifier's labels; 0 for other models.
    """

    vocabulary: int = 0
    labels: int = 0


def build(config: ModelSection, sizes: DataSizes, most: int | None = None) -> nn.Module:
    """The untrained model that a recipe's [model] section describes.

    Args:
        most: the memory limit in bytes; None: the machine's memory.

    Raises:
        ModelError: the model would need more.
    """
    check_memory(config, sizes.vocabulary, sizes.labels, most)
    for kind in KINDS.values():  # of plugins, whose sections may be derived from jumok's
        if kind.build is not None and type(config) in sections_of(kind.entry("recipe")):
            model: nn.Module = kind.entry("build")(config, sizes)
            return model
    match config:
        case TransformerConfig():
            return Transformer(config, sizes.vocabulary)
        case RecurrentConfig():
            return RecurrentModel(config, sizes.vocabulary)
        case CaptionerConfig():
            return CaptionerModel(config, sizes.vocabulary)
        case CausalConfig():
            return CausalLanguageModel(config, sizes.vocabulary)
        case MaskedConfig():
            return MaskedLanguageModel(config, sizes.vocabulary)
        case TextClassifierConfig():
            return TextClassifier(config, sizes.vocabulary, sizes.labels)
        case ImageClassifierConfig():
            return ImageClassifier(config, sizes.labels)
    raise ModelError(
        "nothing builds this kind of model.",
        got=config.kind,
        do="give its record (jumok.Kind) the entry `build`",
    )
