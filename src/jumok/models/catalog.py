"""Every architecture by the class of its [model] section."""

from collections.abc import Callable
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
from jumok.narrowing import taking


@dataclass(frozen=True)
class DataSizes:
    """The sizes of a model that depend on the data.

    Attributes:
        vocabulary: the size of the tokenizer's vocabulary; 0 where there is none.
        labels: the number of a classifier's labels; 0 for other models.
    """

    vocabulary: int = 0
    labels: int = 0


CATALOG: dict[type[ModelSection], Callable[[ModelSection, DataSizes], nn.Module]] = {
    TransformerConfig: taking(
        TransformerConfig, lambda config, sizes: Transformer(config, sizes.vocabulary)
    ),
    RecurrentConfig: taking(
        RecurrentConfig, lambda config, sizes: RecurrentModel(config, sizes.vocabulary)
    ),
    CaptionerConfig: taking(
        CaptionerConfig, lambda config, sizes: CaptionerModel(config, sizes.vocabulary)
    ),
    CausalConfig: taking(
        CausalConfig, lambda config, sizes: CausalLanguageModel(config, sizes.vocabulary)
    ),
    MaskedConfig: taking(
        MaskedConfig, lambda config, sizes: MaskedLanguageModel(config, sizes.vocabulary)
    ),
    TextClassifierConfig: taking(
        TextClassifierConfig,
        lambda config, sizes: TextClassifier(config, sizes.vocabulary, sizes.labels),
    ),
    ImageClassifierConfig: taking(
        ImageClassifierConfig, lambda config, sizes: ImageClassifier(config, sizes.labels)
    ),
}


def build(config: ModelSection, sizes: DataSizes, most: int | None = None) -> nn.Module:
    """The untrained model that a recipe's [model] section describes.

    Args:
        most: the memory limit in bytes; None: the machine's memory.

    Raises:
        ModelError: the model would need more.
    """
    check_memory(config, sizes.vocabulary, sizes.labels, most)
    known = CATALOG.get(type(config))
    return _build_of_plugin(config, sizes) if known is None else known(config, sizes)


def _build_of_plugin(config: ModelSection, sizes: DataSizes) -> nn.Module:
    """The model of a kind that was registered."""
    for kind in KINDS.values():
        if kind.build is not None and type(config) in sections_of(kind.entry("recipe")):
            model: nn.Module = kind.entry("build")(config, sizes)
            return model
    raise ModelError(
        "nothing builds this kind of model.",
        got=config.kind,
        do="give its record (jumok.Kind) the entry `build`",
    )
