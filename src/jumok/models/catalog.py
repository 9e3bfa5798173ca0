"""Every architecture by name: the `model.kind` of a recipe."""

from collections.abc import Callable

from torch import nn

from jumok.config import TransformerConfig
from jumok.models.encoder_decoder import Transformer

ModelConfig = TransformerConfig

CATALOG: dict[str, Callable[[TransformerConfig, int], nn.Module]] = {
    "transformer": Transformer,
}


def build(config: ModelConfig, vocabulary_size: int) -> nn.Module:
    """The untrained model that `config` describes."""
    return CATALOG[config.kind](config, vocabulary_size)
