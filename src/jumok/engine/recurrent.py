"""Sequence to sequence with RNNs on the engine, or a decoder alone over a Memory that is given."""

import ctypes
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np
import numpy.typing as npt

from jumok.config.recurrent import RecurrentConfig
from jumok.engine.forced import Depth, Keeping, WatchedAttention
from jumok.engine.native import NativeModel
from jumok.engine.packing import Kind, Packed, Weights
from jumok.engine.quantising import Quantised
from jumok.engine.searching import SearchRules, Source, begun, joined
from jumok.engine.structures import CellLayout, LinearLayout, RecurrentLayout, library

Array = npt.NDArray[np.float32]

LANES = 16
CELLS = ("rnn", "lstm", "gru")
ORDERS = ("first-state", "every-step", "bahdanau", "luong", "feeding", "gnmt")
SCORES = {"dot": 0, "scaled-dot": 0, "bilinear": 0, "cosine": 1, "additive": 2}
"""Which of the engine's three scores each is: a product, that of unit vectors, or v . tanh(...)."""

SHARPEST = math.log(100.0)
"""As in attention/cosine.py: the temperature is never below 0.01."""


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


class NativeRecurrent(NativeModel):
    """A sequence-to-sequence RNN. Its attention, if it has one, is layer 0 of "cross".

    Args:
        weights: by their names in a bundle, float32; tied ones may be there once. Without those of
            an encoder every source is a Memory.
        integers: by their names, matrices that are already int8; of these `weights` needs only the
            tables.
    """

    positions = None

    def __init__(
        self,
        config: RecurrentConfig,
        weights: Weights,
        kind: Kind = "fp32",
        integers: Mapping[str, Quantised] | None = None,
    ) -> None:
        assert missing(config) is None
        self._packed = packed = Packed(kind, integers)
        self._weights, self._names = weights, {*weights, *(integers or {})}
        self._depth = Depth(0, 0, int(config.attention != "none"), heads=1)
        self.dim = config.dim
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
            *self._tables(source, target), *self._cells,
            self._linear("decoder.first"), self._linear(f"{score}.query"),
            self._linear(f"{score}.key"), self._linear("decoder.gate"),
            self._linear("decoder.readout"),
            packed.projection(
                weights, "decoder.output.weight", "decoder.embedding.table",
                "encoder.embedding.table",
            ),
            self._vector(f"{score}.energy"), self._vector(f"{score}.coverage"),
        )  # fmt: skip

    def _tables(self, source: Array | None, target: Array) -> tuple[int, int]:
        """The addresses of the tables of sources and of targets, which may be one."""
        here = self._packed.address(target)
        if source is None:
            return 0, here
        tied = source.ctypes.data == target.ctypes.data
        return (here if tied else self._packed.address(source)), here

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
        there = f"{name}.weight" in self._names
        return self._packed.linear(self._weights, name) if there else LinearLayout()

    def _vector(self, name: str) -> int:
        there = name in self._weights
        return self._packed.address(self._weights[name]) if there else 0

    @contextmanager
    def _session(
        self, sources: Sequence[Source], rules: SearchRules, watched: Sequence[WatchedAttention]
    ) -> Iterator[tuple[int, Keeping]]:
        engine = library()
        assert engine is not None
        keeping, read = Keeping(watched, self._depth.heads), joined(sources)
        session = engine.jumok_begin_recurrent(
            ctypes.byref(self._model), len(sources), read.tokens, read.memory, read.offsets,
            rules.beam, max(rules.longest) + 1, keeping.layout if watched else None,
        )  # fmt: skip
        with begun(session) as address:
            yield address, keeping
