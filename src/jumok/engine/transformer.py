"""An encoder-decoder Transformer on the engine: sources in, the best hypothesis of each out."""

from contextlib import AbstractContextManager

from jumok.config import TransformerConfig
from jumok.config.captioner import StackDecoderConfig
from jumok.config.stack import StackConfig
from jumok.engine.blocks import PackedStacks
from jumok.engine.forced import Depth
from jumok.engine.native import NativeModel
from jumok.engine.packing import Kind
from jumok.engine.parts import missing_part
from jumok.engine.request import session_of
from jumok.engine.structures import library
from jumok.engine.tensors import TIED, Tensors


class NativeTransformer(NativeModel):
    """An encoder-decoder Transformer."""

    def __init__(self, config: TransformerConfig, tensors: Tensors, kind: Kind = "fp32") -> None:
        layers = config.encoder_layers, config.decoder_layers
        self._pack(config, tensors, kind, layers, TIED[config.tied])

    def _pack(
        self,
        config: StackConfig,
        tensors: Tensors,
        kind: Kind,
        layers: tuple[int, int],
        tied: tuple[str, ...],
    ) -> None:
        assert missing_part(config) is None
        self._depth = Depth(*layers, layers[1], config.heads)
        self._packed = PackedStacks(config, tensors, kind, layers, cross=True, tied=tied)
        self.positions, self.vocabulary = self._packed.positions, self._packed.vocabulary
        self.dim = config.dim

    @property
    def packed(self) -> PackedStacks:
        """Its weights as the engine reads them."""
        return self._packed

    def _session(self) -> AbstractContextManager[int]:
        engine = library()
        assert engine is not None
        return session_of(engine.jumok_begin(self._packed.layout))


class NativeDecoder(NativeTransformer):
    """The decoder of a Transformer alone, every source of which is a Memory."""

    def __init__(self, config: StackDecoderConfig, tensors: Tensors, kind: Kind = "fp32") -> None:
        self._pack(config, tensors, kind, (0, config.layers), TIED["target"])
