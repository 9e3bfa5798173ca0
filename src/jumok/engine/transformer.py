"""An encoder-decoder Transformer on the engine: sources in, the best hypothesis of each out."""

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from jumok.config import TransformerConfig
from jumok.engine.packing import Kind, Packed, Weights
from jumok.engine.quantising import Quantised
from jumok.engine.structures import (
    Best,
    BlockLayout,
    ModelLayout,
    NormLayout,
    SearchLimits,
    library,
)
from jumok.errors import ModelError

LANES = 16

Places = npt.NDArray[np.float32]
"""(positions dim)"""


@dataclass(frozen=True)
class SearchRules:
    """The rules of a search.

    Attributes:
        longest: the maximum number of tokens of each sentence, without END.
        penalties: by length, END counted: what a hypothesis's log-probability is divided by;
            two entries more than the largest of `longest`.
        enough: the number of finished hypotheses that ends the search for a sentence; 0: none does.
    """

    beam: int
    start: int
    end: int
    forbidden: tuple[int, ...]
    minimum: int
    longest: Sequence[int]
    penalties: Sequence[float]
    enough: int


@dataclass(frozen=True)
class Written:
    """A hypothesis: its tokens without END, and their log-probabilities, END's included."""

    tokens: tuple[int, ...]
    log_probabilities: tuple[float, ...]


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


class NativeTransformer:
    """A model's weights in the engine's layout; any number of threads may search with it at once.

    Attributes:
        positions: the number of positions of a text, END or START included; None: no limit.

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

    def _check(self, sources: Sequence[Sequence[int]], rules: SearchRules) -> None:
        """Everything that the engine would read must be there."""
        longest = max(*map(len, sources), max(rules.longest) + 1)
        if self.positions is not None and longest > self.positions:
            raise ModelError(
                "a text is longer than the engine's positions.",
                expected=f"at most {self.positions} tokens",
                got=str(longest),
            )
        highest = max(map(max, sources))
        if min(map(min, sources)) < 0 or highest >= self.vocabulary:
            raise ModelError(
                "a token is not in the vocabulary.",
                expected=f"ids from 0 to {self.vocabulary - 1}",
                got=str(highest),
            )

    def search(self, sources: Sequence[Sequence[int]], rules: SearchRules) -> list[Written]:
        """The best hypothesis for each source (its tokens, END included); beam 1 is greedy.

        Raises:
            ModelError: a source or a target is longer than the model's positions, a token is not
                in the vocabulary, or the model gives no token a probability.
            MemoryError: there is not enough memory.
        """
        if not sources:
            return []
        self._check(sources, rules)
        engine = library()
        assert engine is not None
        count, room = len(sources), max(rules.longest) + 1
        tokens = np.concatenate([np.asarray(each, np.int32) for each in sources])
        places = np.concatenate([np.arange(len(each), dtype=np.int32) for each in sources])
        offsets = np.cumsum([0, *map(len, sources)], dtype=np.int64)
        longest = np.array(rules.longest, np.int64)
        forbidden, penalties = np.array(rules.forbidden, np.int32), np.array(rules.penalties)
        limits = SearchLimits(
            rules.minimum, rules.start, rules.end, longest.ctypes.data, forbidden.ctypes.data,
            len(forbidden), rules.enough, penalties.ctypes.data,
        )  # fmt: skip
        score, finished = np.zeros(count), np.zeros(count, np.int64)
        length, cut = np.zeros(count, np.int64), np.zeros(count, np.uint8)
        written = np.zeros((count, room), np.int32)
        values = np.zeros((count, room), np.float32)
        arrays = score, finished, length, cut, written, values
        best = Best(*(array.ctypes.data for array in arrays))
        session = engine.jumok_begin(
            ctypes.byref(self._model), count, tokens.ctypes.data, places.ctypes.data,
            offsets.ctypes.data, rules.beam, room,
        )  # fmt: skip
        if session is None:
            raise MemoryError("the engine's session")
        try:
            if rules.beam == 1:
                failed = engine.jumok_greedy(session, ctypes.byref(limits), ctypes.byref(best))
            else:
                failed = engine.jumok_beam(
                    session, ctypes.byref(limits), rules.beam, ctypes.byref(best)
                )
        finally:
            engine.jumok_end(session)
        if failed:
            raise MemoryError("the engine's search")
        if length.min() < 0:
            raise ModelError(
                "the model gives no probability to any next token.",
                do="look for NaN in the model's weights",
            )
        return [
            Written(
                tuple(written[row, : length[row]].tolist()),
                tuple(values[row, : length[row] + 1 - cut[row]].tolist()),
            )
            for row in range(count)
        ]
