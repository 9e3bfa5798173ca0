"""Transformers on the engine: sources in; the best hypothesis or the states of each out."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager

from jumok.config import TransformerConfig
from jumok.config.captioner import StackDecoderConfig
from jumok.config.masked import EncoderConfig
from jumok.config.stack import StackConfig
from jumok.engine import Precision
from jumok.engine.blocks import PackedStacks, missing_part
from jumok.engine.forced import Depth, Keeping
from jumok.engine.native import NativeModel
from jumok.engine.packing import Array, Weights
from jumok.engine.quantising import Quantised
from jumok.engine.request import Request, session_of
from jumok.engine.searching import SearchRules, check_sources
from jumok.engine.structures import loaded_engine


class NativeTransformer(NativeModel):
    """An encoder-decoder Transformer.

    Attributes:
        packed: its weights as the engine reads them.

    Args:
        weights: by their names in a bundle, float32; tied ones may be there once.
        integers: by their names, matrices that are already int8; of these `weights` needs only the
            tables.
    """

    def __init__(
        self,
        config: TransformerConfig,
        weights: Weights,
        kind: Precision = "fp32",
        integers: Mapping[str, Quantised] | None = None,
    ) -> None:
        assert missing_part(config) is None
        self._pack(config, weights, kind, (config.encoder_layers, config.decoder_layers), integers)

    def _pack(
        self,
        config: StackConfig,
        weights: Weights,
        kind: Precision,
        layers: tuple[int, int],
        integers: Mapping[str, Quantised] | None = None,
    ) -> None:
        recurrent = isinstance(config, TransformerConfig) and config.decoder != config
        self.source_end = not isinstance(config, TransformerConfig) or config.source_end
        self._depth = Depth(*layers, layers[1], config.heads, recurrent)
        self.packed = PackedStacks(config, weights, kind, layers, cross=True, integers=integers)
        self.positions, self.vocabulary = self.packed.positions, self.packed.vocabulary
        self.dim = config.dim

    def states(self, sources: Sequence[Sequence[int]]) -> list[Array]:
        """What the encoder writes for each source, (positions dim); nothing is padded.

        Raises:
            ModelError: a source is longer than the model's positions, or a token is not in the
                vocabulary.
            MemoryError: there is not enough memory.
        """
        if not sources:
            return []
        rules = SearchRules(1, 0, 0, (), 0, [0] * len(sources), (), 0)
        check_sources(sources, rules, self.vocabulary, self.positions, self.dim)
        with self._session() as session:
            return Request(sources, rules, Keeping((), 1)).states(session, self.dim)

    def _session(self) -> AbstractContextManager[int]:
        return session_of(loaded_engine().jumok_begin(self.packed.layout))


class NativeDecoder(NativeTransformer):
    """The decoder of a Transformer alone, every source of which is a Memory.

    Args:
        weights: by their names in a bundle, float32.
    """

    def __init__(
        self, config: StackDecoderConfig, weights: Weights, kind: Precision = "fp32"
    ) -> None:
        assert missing_part(config) is None
        self._pack(config, weights, kind, (0, config.layers))


class NativeEncoder(NativeTransformer):
    """An encoder alone, which writes nothing but states.

    Args:
        weights: by their names in a bundle, float32.
        integers: by their names, matrices that are already int8.
    """

    def __init__(
        self,
        config: EncoderConfig,
        weights: Weights,
        kind: Precision = "fp32",
        integers: Mapping[str, Quantised] | None = None,
    ) -> None:
        assert missing_part(config) is None
        self._pack(config, weights, kind, (config.layers, 0), integers)
