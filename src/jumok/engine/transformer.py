"""An encoder-decoder Transformer on the engine: sources in, the best hypothesis of each out."""

import ctypes
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np
import numpy.typing as npt

from jumok.config import TransformerConfig
from jumok.engine.forced import Depth, Keeping, WatchedAttention
from jumok.engine.native import NativeModel
from jumok.engine.packing import Kind, Packed, Weights
from jumok.engine.quantising import Quantised
from jumok.engine.searching import SearchRules, Source, begun, joined
from jumok.engine.structures import BlockLayout, ModelLayout, NormLayout, library

LANES = 16

Places = npt.NDArray[np.float32]
"""(positions dim)"""


def missing(config: TransformerConfig) -> str | None:
    """What of this model the engine does not have; None if it serves the model."""
    head = config.head_dim or config.dim // config.heads
    parts = {
        "score": (config.score, "scaled-dot"),
        "norm_kind": (config.norm_kind, "layer"),
        "feedforward_kind": (config.feedforward_kind, "plain"),
        "activation": (config.activation, "relu"),
        "positions_join": (config.positions_join, "add"),
        "process_heads": (config.process_heads, ()),
        "process_output": (config.process_output, ()),
        "kv_heads": (config.kv_heads or config.heads, config.heads),
    }
    for key, (found, known) in parts.items():
        if found != known:
            return f"{key} = {found!r}"
    if config.positions not in ("sinusoidal", "learned", "none"):
        return f"positions = {config.positions!r}"
    widths = {
        "dim": config.dim,
        "head_dim": head,
        "value_dim": config.value_dim or head,
        "feedforward": config.feedforward,
    }
    odd = next((name for name, width in widths.items() if width % LANES), None)
    if odd is not None:
        return f"{odd} = {widths[odd]}, which is no multiple of {LANES}"
    return "no C compiler" if library() is None else None


class NativeTransformer(NativeModel):
    """An encoder-decoder Transformer.

    Args:
        weights: by their names in a bundle, float32; tied ones may be there once.
        places: the vectors of the positions of sources and of targets; None: they have none.
        integers: by their names, matrices that are already int8; of these `weights` needs only the
            tables.
    """

    def __init__(
        self,
        config: TransformerConfig,
        weights: Weights,
        places: tuple[Places, Places] | None,
        kind: Kind = "fp32",
        integers: Mapping[str, Quantised] | None = None,
    ) -> None:
        assert missing(config) is None
        self.positions = None if places is None else min(map(len, places))
        self.vocabulary = len(weights["encoder.embedding.table"])
        self.dim = config.dim
        decoder_layers = config.decoder_layers
        self._depth = Depth(config.encoder_layers, decoder_layers, decoder_layers, config.heads)
        self._packed = packed = Packed(kind, integers)
        self._weights = weights
        encoder = [self._block(f"encoder.blocks.{n}") for n in range(config.encoder_layers)]
        decoder = [self._block(f"decoder.blocks.{n}", True) for n in range(config.decoder_layers)]
        self._blocks = (
            (BlockLayout * len(encoder))(*encoder),
            (BlockLayout * len(decoder))(*decoder),
        )
        source = weights["encoder.embedding.table"]
        target = weights.get("decoder.embedding.table", source)
        tables = [packed.address(source)]
        tied = target.ctypes.data == source.ctypes.data
        tables.append(tables[0] if tied else packed.address(target))
        head = config.head_dim or config.dim // config.heads
        self._model = ModelLayout(
            config.dim, config.heads, head, config.value_dim or head, config.feedforward,
            0 if places is None else len(places[0]), len(encoder), len(decoder),
            config.norm == "post", config.norm_epsilon, head**-0.5, config.dim**0.5, *tables,
            *((0, 0) if places is None else map(packed.address, places)),
            self._first("encoder"), self._first("decoder"), *self._blocks,
            packed.projection(
                weights, "decoder.output.weight", "decoder.embedding.table",
                "encoder.embedding.table",
            ),
        )  # fmt: skip

    def _first(self, side: str) -> NormLayout:
        return self._packed.norm(self._weights, f"{side}.first_norm")

    def _block(self, name: str, cross: bool = False) -> BlockLayout:
        packed, weights = self._packed, self._weights
        own, other = f"{name}.self_attention", f"{name}.cross_attention"
        block = BlockLayout(
            packed.linear(weights, f"{own}.query", f"{own}.key", f"{own}.value"),
            packed.linear(weights, f"{own}.output"),
            packed.norm(weights, f"{name}.after_self.norm"),
        )
        if cross:
            block.cross_query = packed.linear(weights, f"{other}.query")
            block.cross_projections = packed.linear(weights, f"{other}.key", f"{other}.value")
            block.cross_output = packed.linear(weights, f"{other}.output")
            block.after_cross = packed.norm(weights, f"{name}.after_cross.norm")
        block.inner = packed.linear(weights, f"{name}.feedforward.inner")
        block.outer = packed.linear(weights, f"{name}.feedforward.outer")
        block.after_feedforward = packed.norm(weights, f"{name}.after_feedforward.norm")
        return block

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
            ctypes.byref(self._model), len(sources), read.tokens, places.ctypes.data, read.memory,
            read.offsets, rules.beam, max(rules.longest) + 1, keeping.layout, len(watched),
        )  # fmt: skip
        with begun(session) as address:
            yield address, keeping
