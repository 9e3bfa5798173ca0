"""Sequence to sequence with RNNs on the engine, or a decoder alone over a Memory that is given."""

import math
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager

import numpy as np

from jumok.config.recurrent import GATES, STATES, RecurrentConfig
from jumok.engine import Precision
from jumok.engine.blocks import Elements, filled, padded
from jumok.engine.forced import Depth
from jumok.engine.native import NativeModel
from jumok.engine.packing import OUTPUT_BIAS, Array, Packed, Weights, output_table
from jumok.engine.quantising import Quantised
from jumok.engine.request import session_of
from jumok.engine.structures import (
    CellLayout,
    LinearLayout,
    RecurrentLayout,
    library,
    loaded_engine,
)
from jumok.specs import SHARPEST, ScoreSpec

CELL_KINDS = ("rnn", "lstm", "gru")
ORDERS = ("first-state", "every-step", "bahdanau", "luong", "feeding", "gnmt")


def missing(config: RecurrentConfig) -> str | None:
    """What of this model the engine does not have; None if it serves the model."""
    for key, name, spec in config.parts():
        if spec is None or not spec.engine:
            return f"{key} = {name!r}"
    return "no C compiler" if library() is None else None


def spaced(matrix: Elements, outputs: tuple[int, int], inputs: Sequence[int]) -> Elements:
    """A matrix with zeros after each group of outputs and of inputs, up to a multiple of 16."""
    groups, width = outputs
    columns = [
        padded(part, len(part), filled(part.shape[1]))
        for part in np.split(matrix, np.cumsum(inputs)[:-1], axis=1)
    ]
    whole = np.concatenate(columns, axis=1).reshape(groups, width, -1)
    return padded(whole, groups, filled(width), whole.shape[2]).reshape(groups * filled(width), -1)


def _order(config: RecurrentConfig) -> str:
    if not config.looks:
        return config.context
    return "feeding" if config.input_feeding else config.order


def _form(score: ScoreSpec) -> int:
    """Which of the engine's three scores it is: a product, that of unit vectors, v . tanh(...)."""
    return int(bool(score.factors)) if score.product else 2


class NativeRecurrent(NativeModel):
    """A sequence-to-sequence RNN. Its attention, if it has one, is layer 0 of "cross".

    Attributes:
        layout, packed: as the engine reads it, and its arrays.

    Args:
        weights: by their names in a bundle, float32; tied ones may be there once. Without those of
            an encoder every source is a Memory.
        integers: by their names, matrices that are already int8; of these `weights` needs only the
            tables.
    """

    def __init__(
        self,
        config: RecurrentConfig,
        weights: Weights,
        kind: Precision = "fp32",
        integers: Mapping[str, Quantised] | None = None,
    ) -> None:
        assert missing(config) is None
        self.packed, self._config = Packed(kind), config
        self._weights, self._integers = weights, integers or {}
        self._depth = Depth(0, 0, int(config.looks), heads=1)
        self.dim, ways = config.dim, 1 + config.bidirectional
        source = weights.get("encoder.embedding.table")
        target = weights.get("decoder.embedding.table", source)
        assert target is not None
        self.vocabulary, self.positions = len(target), None
        encoder = [] if source is None else self._encoder()
        decoder = self._decoder()
        self._cells = (CellLayout * len(encoder))(*encoder), (CellLayout * len(decoder))(*decoder)
        score, dim, word = "decoder.attention.score", config.dim, config.embedding
        states = config.decoder_layers * STATES[config.cell]
        self.layout = RecurrentLayout(
            CELL_KINDS.index(config.cell), filled(dim), filled(word), filled(dim // ways), dim,
            dim // ways, len(encoder) // ways, ways, not config.looks, config.first_state == "last",
            config.decoder_layers, ORDERS.index(_order(config)), _form(config.score),
            word**0.5, self._scale(), *self._tables(source, target), *self._cells,
            self._linear("decoder.first", (states, dim), dim),
            self._linear(f"{score}.query", (1, dim), dim),
            self._linear(f"{score}.key", (1, dim), dim),
            self._linear("decoder.gate", (1, 1), dim),
            self._linear("decoder.readout", (1, word), *config.readout_inputs),
            self._output(),
            self._vector(f"{score}.energy"), self._vector(f"{score}.coverage"),
        )  # fmt: skip

    def _encoder(self) -> list[CellLayout]:
        config, ways = self._config, ("forwards", "backwards")[: 1 + self._config.bidirectional]
        return [
            self._cell(
                f"encoder.readers.{layer}.{way}",
                config.dim // len(ways),
                config.dim if layer else config.embedding,
            )
            for layer in range(config.encoder_layers)
            for way in ways
        ]

    def _decoder(self) -> list[CellLayout]:
        config = self._config
        inputs = [config.word_inputs, *[config.upper_inputs] * (config.decoder_layers - 1)]
        return [
            self._cell(f"decoder.cells.cells.{layer}", config.dim, *widths)
            for layer, widths in enumerate(inputs)
        ]

    def _cell(self, name: str, dim: int, *inputs: int) -> CellLayout:
        outputs = GATES[self._config.cell], dim
        return CellLayout(
            self._linear(f"{name}.input", outputs, *inputs),
            self._linear(f"{name}.state", outputs, dim),
        )

    def _linear(self, name: str, outputs: tuple[int, int], *inputs: int) -> LinearLayout:
        """The layer of this name; an empty one where the model has none.

        Args:
            outputs: how many vectors of which width.
            inputs: the widths of the vectors that it reads, side by side.
        """
        matrix = self._matrix(f"{name}.weight", outputs, *inputs)
        if matrix is None:
            return LinearLayout()
        bias = self._weights[f"{name}.bias"].reshape(outputs)
        return self.packed.matrix(matrix, padded(bias, outputs[0], filled(outputs[1])).ravel())

    def _matrix(
        self, name: str, outputs: tuple[int, int], *inputs: int
    ) -> Array | Quantised | None:
        """With every width filled up to a multiple of 16; None where the model has none."""
        if name in self._integers:
            stored = self._integers[name]
            scales = padded(stored.scales.reshape(outputs), outputs[0], filled(outputs[1]))
            return Quantised(spaced(stored.integers, outputs, inputs), scales.ravel())
        return spaced(self._weights[name], outputs, inputs) if name in self._weights else None

    def _output(self) -> LinearLayout:
        name, bias = output_table(self._integers, self._weights), self._weights.get(OUTPUT_BIAS)
        stored = self._integers.get(name)
        if stored is None:
            return self.packed.matrix(self._table(self._weights[name]), bias)
        whole = padded(stored.integers, len(stored.integers), filled(self._config.embedding))
        return self.packed.matrix(Quantised(whole, stored.scales), bias)

    def _table(self, table: Array) -> Array:
        return padded(table, len(table), filled(self._config.embedding))

    def _tables(self, source: Array | None, target: Array) -> tuple[int, int]:
        """The addresses of the tables of sources and of targets, which may be one."""
        here = self.packed.address(self._table(target))
        if source is None:
            return 0, here
        tied = source.ctypes.data == target.ctypes.data
        return (here if tied else self.packed.address(self._table(source))), here

    def _vector(self, name: str) -> int:
        vector = self._weights.get(name)
        if vector is None:
            return 0
        return self.packed.address(padded(vector, filled(len(vector))))

    def _scale(self) -> float:
        sharpness = self._weights.get("decoder.attention.score.sharpness")
        if sharpness is not None:
            return math.exp(min(float(sharpness[0]), SHARPEST))
        return float(self._config.dim**-0.5 if self._config.score.scaled else 1.0)

    def _session(self) -> AbstractContextManager[int]:
        return session_of(loaded_engine().jumok_begin_recurrent(self.layout))
