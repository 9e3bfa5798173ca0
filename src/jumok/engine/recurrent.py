"""Sequence to sequence with RNNs on the engine, or a decoder alone over a Memory that is given."""

import ctypes
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import numpy.typing as npt

from jumok.config.recurrent import RecurrentConfig
from jumok.engine.packing import Kind, Packed, Weights
from jumok.engine.searching import SearchRules, Written, begun, check_sources, search
from jumok.engine.structures import CellLayout, LinearLayout, RecurrentLayout, library

LANES = 16
CELLS = ("rnn", "lstm", "gru")
ORDERS = ("first-state", "every-step", "bahdanau", "luong", "feeding", "gnmt")
SCORES = {"dot": 0, "scaled-dot": 0, "bilinear": 0, "cosine": 1, "additive": 2}
"""Which of the engine's three scores each is: a product, that of unit vectors, or v . tanh(...)."""

SHARPEST = math.log(100.0)
"""As in attention/cosine.py: the temperature is never below 0.01."""

Memory = npt.NDArray[np.float32]
"""(positions dim)"""


def missing(config: RecurrentConfig) -> str | None:
    """What of this model the engine does not have; None if it serves the model."""
    if config.attention not in ("none", *SCORES):
        return f"attention = {config.attention!r}"
    if config.embedding % LANES:
        return f"embedding = {config.embedding}, which is no multiple of {LANES}"
    directions = 1 + config.bidirectional
    if config.dim % (directions * LANES):
        return f"dim = {config.dim}, which is no multiple of {directions * LANES}"
    return "no C compiler" if library() is None else None


def _order(config: RecurrentConfig) -> str:
    if config.attention == "none":
        return config.context
    return "feeding" if config.input_feeding else config.order


class NativeRecurrent:
    """A model's weights in the engine's layout; any number of threads may search with it at once.

    Attributes:
        positions: None: a text may be of any length.

    Args:
        weights: by their names in a bundle, float32; tied ones may be there once. Without those of
            an encoder only `search_memories` can be called.
    """

    positions = None

    def __init__(self, config: RecurrentConfig, weights: Weights, kind: Kind = "fp32") -> None:
        assert missing(config) is None
        self._packed = packed = Packed(kind)
        self._weights = weights
        self._dim = config.dim
        source = weights.get("encoder.embedding.table")
        target = weights.get("decoder.embedding.table", source)
        assert target is not None
        self.vocabulary = len(target)
        encoder = [] if source is None else self._encoder(config)
        decoder = [self._cell(f"decoder.cells.cells.{n}") for n in range(config.decoder_layers)]
        self._cells = (CellLayout * len(encoder))(*encoder), (CellLayout * len(decoder))(*decoder)
        score = "decoder.attention.score"
        self._model = RecurrentLayout(
            CELLS.index(config.cell), config.dim, config.embedding, config.encoder_layers,
            1 + config.bidirectional, config.attention == "none", config.decoder_layers,
            ORDERS.index(_order(config)), SCORES.get(config.attention, 0),
            config.embedding**0.5, self._scale(config),
            0 if source is None else packed.address(source), packed.address(target), *self._cells,
            self._linear("decoder.first"), self._linear(f"{score}.query"),
            self._linear(f"{score}.key"), self._linear("decoder.gate"),
            self._linear("decoder.readout"),
            packed.matrix(weights.get("decoder.output.weight", target)),
            self._vector(f"{score}.energy"), self._vector(f"{score}.coverage"),
        )  # fmt: skip

    def _encoder(self, config: RecurrentConfig) -> list[CellLayout]:
        ways = ("forwards", "backwards")[: 1 + config.bidirectional]
        return [
            self._cell(f"encoder.readers.{layer}.{way}")
            for layer in range(config.encoder_layers)
            for way in ways
        ]

    def _scale(self, config: RecurrentConfig) -> float:
        if config.attention == "cosine":
            (sharpness,) = self._weights["decoder.attention.score.sharpness"]
            return math.exp(min(float(sharpness), SHARPEST))
        return float(config.dim**-0.5 if config.attention == "scaled-dot" else 1.0)

    def _cell(self, name: str) -> CellLayout:
        return CellLayout(self._linear(f"{name}.input"), self._linear(f"{name}.state"))

    def _linear(self, name: str) -> LinearLayout:
        """The layer of this name; an empty one where the model has none."""
        there = f"{name}.weight" in self._weights
        return self._packed.linear(self._weights, name) if there else LinearLayout()

    def _vector(self, name: str) -> int:
        there = name in self._weights
        return self._packed.address(self._weights[name]) if there else 0

    def search(self, sources: Sequence[Sequence[int]], rules: SearchRules) -> list[Written]:
        """The best hypothesis for each source (its tokens, END included); beam 1 is greedy.

        Raises:
            ModelError: a token is not in the vocabulary, or the model gives no token a
                probability.
            MemoryError: there is not enough memory.
        """
        if not sources:
            return []
        check_sources(sources, rules, self.vocabulary, self.positions)
        tokens = np.concatenate([np.asarray(each, np.int32) for each in sources])
        with self._session(list(map(len, sources)), rules, tokens=tokens) as session:
            return search(session, len(sources), rules)

    def search_memories(self, memories: Sequence[Memory], rules: SearchRules) -> list[Written]:
        """The best hypothesis for each Memory, (positions dim) of any number of positions.

        Raises:
            ModelError: the model gives no token a probability.
            MemoryError: there is not enough memory.
        """
        if not memories:
            return []
        joined = np.concatenate(memories, dtype=np.float32)
        assert joined.shape[1] == self._dim, joined.shape
        with self._session(list(map(len, memories)), rules, memory=joined) as session:
            return search(session, len(memories), rules)

    @contextmanager
    def _session(
        self,
        lengths: Sequence[int],
        rules: SearchRules,
        *,
        tokens: npt.NDArray[np.int32] | None = None,
        memory: Memory | None = None,
    ) -> Iterator[int]:
        engine = library()
        assert engine is not None
        offsets = np.cumsum([0, *lengths], dtype=np.int64)
        session = engine.jumok_begin_recurrent(
            ctypes.byref(self._model), len(lengths),
            None if tokens is None else tokens.ctypes.data,
            None if memory is None else memory.ctypes.data,
            offsets.ctypes.data, rules.beam, max(rules.longest) + 1,
        )  # fmt: skip
        with begun(session) as address:
            yield address
