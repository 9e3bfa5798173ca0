"""Every architecture by the section [model] that describes it."""

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
from jumok.errors import ModelError
from jumok.models.captioner import CaptionerModel
from jumok.models.causal import CausalLanguageModel
from jumok.models.classifier import TextClassifier
from jumok.models.encoder_decoder import Transformer
from jumok.models.image_classifier import ImageClassifier
from jumok.models.masked import MaskedLanguageModel
from jumok.models.recurrent import RecurrentModel
from jumok.models.size import BYTES, memory, numbers_in


@dataclass(frozen=True)
class DataSizes:
    """What the data decides about a model.

    Attributes:
        vocabulary: the size of the tokenizer's vocabulary; 0 where there is none.
        labels: what a classifier chooses from; 0 where nothing is classified.
    """

    vocabulary: int = 0
    labels: int = 0


CATALOG: dict[type[ModelSection], Callable[[Any, DataSizes], nn.Module]] = {
    TransformerConfig: lambda config, sizes: Transformer(config, sizes.vocabulary),
    RecurrentConfig: lambda config, sizes: RecurrentModel(config, sizes.vocabulary),
    CaptionerConfig: lambda config, sizes: CaptionerModel(config, sizes.vocabulary),
    CausalConfig: lambda config, sizes: CausalLanguageModel(config, sizes.vocabulary),
    MaskedConfig: lambda config, sizes: MaskedLanguageModel(config, sizes.vocabulary),
    TextClassifierConfig: lambda config, sizes: TextClassifier(
        config, sizes.vocabulary, sizes.labels
    ),
    ImageClassifierConfig: lambda config, sizes: ImageClassifier(config, sizes.labels),
}
SECTIONS = {section.model_fields["kind"].default: section for section in CATALOG}


def build(config: ModelSection, sizes: DataSizes, most: int | None = None) -> nn.Module:
    """The untrained model that a recipe's [model] section describes.

    Args:
        most: bytes that it may take; None: the machine's memory.

    Raises:
        ModelError: it would take more.
    """
    most = memory() if most is None else min(most, memory())
    needed = BYTES * numbers_in(config, sizes.vocabulary, sizes.labels)
    if needed > most:
        raise ModelError(
            "a model of these sizes needs more memory than there is for it.",
            expected=f"at most {most / 1e9:,.1f} GB",
            got=f"about {needed / 1e9:,.1f} GB for its weights and tables",
            do="choose smaller sizes in [model]",
        )
    return CATALOG[type(config)](config, sizes)


def model_config(values: Mapping[str, Any]) -> ModelSection:
    """A [model] section that a bundle kept.

    Raises:
        ValidationError: pydantic's: keys or values that this kind does not have.
    """
    section = SECTIONS.get(str(values.get("kind")), TransformerConfig)
    return section.model_validate(values)
