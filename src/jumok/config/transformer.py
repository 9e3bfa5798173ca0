"""The section [model] of an encoder-decoder Transformer."""

from typing import Literal

from jumok.config.section import Layers
from jumok.config.stack import WriterConfig


class TransformerConfig(WriterConfig):
    """The encoder-decoder Transformer (Vaswani et al. 2017), pre- or post-norm."""

    kind: Literal["transformer"] = "transformer"
    encoder_layers: Layers = 3
    decoder_layers: Layers = 3
    tied: Literal["all", "target", "none"] = "all"

    @property
    def summary(self) -> str:
        layers = f"{self.encoder_layers}+{self.decoder_layers}"
        return f"{layers} layers, width {self.dim}, {self.heads} heads"
