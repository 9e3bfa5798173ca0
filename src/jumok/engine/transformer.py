"""An encoder-decoder Transformer on the engine: sources in, the best hypothesis of each out."""

import ctypes
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np

from jumok.config import TransformerConfig
from jumok.config.captioner import StackDecoderConfig
from jumok.config.stack import StackConfig
from jumok.engine.blocks import PackedStacks
from jumok.engine.forced import Depth, Keeping, WatchedAttention
from jumok.engine.native import NativeModel
from jumok.engine.packing import Kind, Weights
from jumok.engine.quantising import Quantised
from jumok.engine.searching import SearchRules, Source, begun, joined
from jumok.engine.served import missing_part
from jumok.engine.structures import library


def missing(config: TransformerConfig) -> str | None:
    """What of this model the engine does not have; None if it serves the model."""
    return missing_part(config)


class NativeTransformer(NativeModel):
    """An encoder-decoder Transformer.

    Args:
        weights: by their names in a bundle, float32; tied ones may be there once.
        integers: by their names, matrices that are already int8; of these `weights` needs only the
            tables.
    """

    def __init__(
        self,
        config: TransformerConfig,
        weights: Weights,
        kind: Kind = "fp32",
        integers: Mapping[str, Quantised] | None = None,
    ) -> None:
        assert missing(config) is None
        self._pack(config, weights, kind, (config.encoder_layers, config.decoder_layers), integers)

    def _pack(
        self,
        config: StackConfig,
        weights: Weights,
        kind: Kind,
        layers: tuple[int, int],
        integers: Mapping[str, Quantised] | None = None,
    ) -> None:
        self._depth = Depth(*layers, layers[1], config.heads)
        self._packed = PackedStacks(config, weights, kind, layers, cross=True, integers=integers)
        self.positions, self.vocabulary = self._packed.positions, self._packed.vocabulary
        self.dim = config.dim

    @property
    def packed(self) -> PackedStacks:
        """Its weights as the engine reads them."""
        return self._packed

    @contextmanager
    def _session(
        self, sources: Sequence[Source], rules: SearchRules, watched: Sequence[WatchedAttention]
    ) -> Iterator[tuple[int, Keeping]]:
        engine = library()
        assert engine is not None
        keeping = Keeping(watched, self._depth.heads)
        keeping.make_room(("encoder",), [(len(each), 0) for each in sources])
        read = joined(sources)
        places = np.concatenate([np.arange(len(each), dtype=np.int32) for each in sources])
        session = engine.jumok_begin(
            ctypes.byref(self._packed.layout), len(sources), read.tokens, places.ctypes.data,
            read.memory, read.offsets, rules.beam, max(rules.longest) + 1, keeping.layout,
            len(watched),
        )  # fmt: skip
        with begun(session) as address:
            yield address, keeping


class NativeDecoder(NativeTransformer):
    """The decoder of a Transformer alone, every source of which is a Memory.

    Args:
        weights: by their names in a bundle, float32.
    """

    def __init__(self, config: StackDecoderConfig, weights: Weights, kind: Kind = "fp32") -> None:
        assert missing_part(config) is None
        self._pack(config, weights, kind, (0, config.layers))
