"""The section [model] of an encoder-decoder Transformer."""

from collections.abc import Iterator
from typing import Literal

from jumok.config.section import Layers
from jumok.config.stack import WriterConfig
from jumok.parts import described
from jumok.specs import AttentionSpec, Spec


class TransformerConfig(WriterConfig):
    """The encoder-decoder Transformer (Vaswani et al. 2017), pre- or post-norm.

    Without `source_end` nothing attends to the END of a source, as if it were not there.
    """

    kind: Literal["transformer"] = "transformer"
    encoder_layers: Layers = 3
    decoder_layers: Layers = 3
    decoder_attention_kind: Literal["ssru"] | None = None
    tied: Literal["all", "target", "inputs", "none"] = "all"
    source_end: bool = True

    def parts(self) -> Iterator[tuple[str, str, Spec | None]]:
        yield from super().parts()
        key, name = "decoder_attention_kind", self.decoder_attention_kind
        if name is not None:
            yield key, name, described(AttentionSpec, name)

    @property
    def decoder(self) -> "TransformerConfig":
        """The config of the decoder's blocks."""
        if self.decoder_attention_kind is None:
            return self
        return self.model_copy(update={"attention_kind": self.decoder_attention_kind})

    @property
    def summary(self) -> str:
        layers = f"{self.encoder_layers}+{self.decoder_layers}"
        return f"{layers} layers, width {self.dim}, {self.heads} heads"
