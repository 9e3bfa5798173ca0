"""Sequence to sequence with RNNs on the engine, or a decoder alone over a Memory that is given."""

import math
from collections.abc import Sequence
from contextlib import AbstractContextManager

import numpy as np

from jumok.config.recurrent import GATES, PARTS, RecurrentConfig
from jumok.engine.blocks import Numbers, filled, padded
from jumok.engine.forced import Depth
from jumok.engine.native import NativeModel
from jumok.engine.packing import Array, Kind, Packed
from jumok.engine.parts import SCORES, NativeScore
from jumok.engine.quantising import Quantised
from jumok.engine.request import session_of
from jumok.engine.structures import CellLayout, LinearLayout, RecurrentLayout, library
from jumok.engine.tensors import TABLES, TIED, Tensors

CELLS = ("rnn", "lstm", "gru")
ORDERS = ("first-state", "every-step", "bahdanau", "luong", "feeding", "gnmt")
SHARPEST = math.log(100.0)
"""As in attention/cosine.py: the temperature is never below 0.01."""


def missing(config: RecurrentConfig) -> str | None:
    """What of this model the engine does not have; None if it serves the model."""
    if config.attention not in ("none", *SCORES):
        return f"attention = {config.attention!r}"
    return "no C compiler" if library() is None else None


def spaced(matrix: Numbers, outputs: tuple[int, int], inputs: Sequence[int]) -> Numbers:
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


class NativeRecurrent(NativeModel):
    """A sequence-to-sequence RNN. Its attention, if it has one, is layer 0 of "cross".

    Args:
        encodes: whether it has an encoder; without one every source is a Memory.

    Raises:
        TensorError: a tensor is missing, or of another shape.
    """

    def __init__(
        self,
        config: RecurrentConfig,
        tensors: Tensors,
        kind: Kind = "fp32",
        *,
        encodes: bool = True,
    ) -> None:
        assert missing(config) is None
        self._packed, self._config, self._tensors = Packed(kind), config, tensors
        tensors.tie(TIED[config.tied if encodes else "target"])
        self._depth = Depth(0, 0, int(config.looks), heads=1)
        self.dim, ways = config.dim, 1 + config.bidirectional
        target = tensors.floats(TABLES[1], None, config.embedding)
        self.vocabulary, self.positions = len(target), None
        source = tensors.floats(TABLES[0], *target.shape) if encodes else None
        encoder = self._encoder() if encodes else []
        decoder = self._decoder()
        self._cells = (CellLayout * len(encoder))(*encoder), (CellLayout * len(decoder))(*decoder)
        score, dim, word = "decoder.attention.score", config.dim, config.embedding
        states, layers = config.decoder_layers * PARTS[config.cell], self._score.layers
        self._model = RecurrentLayout(
            CELLS.index(config.cell), filled(dim), filled(word), filled(dim // ways), dim,
            dim // ways, config.encoder_layers, ways, not config.looks,
            config.decoder_layers, ORDERS.index(_order(config)), self._score.number,
            word**0.5, self._scale(), *self._tables(source, target), *self._cells,
            self._linear("decoder.first", (states, dim), dim),
            *(
                self._linear(f"{score}.{side}", (1, dim), dim) if side in layers else LinearLayout()
                for side in ("query", "key")
            ),
            self._linear("decoder.gate", (1, 1), dim) if config.gate else LinearLayout(),
            self._linear("decoder.readout", (1, word), *config.readout_inputs),
            self._output(),
            self._vector("energy"), self._vector("coverage"),
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
        """The layer of this name.

        Args:
            outputs: how many vectors of which width.
            inputs: the widths of the vectors that it reads, side by side.
        """
        rows = outputs[0] * outputs[1]
        matrix = self._tensors.matrix(f"{name}.weight", rows, sum(inputs))
        bias = self._tensors.floats(f"{name}.bias", rows).reshape(outputs)
        biases = padded(bias, outputs[0], filled(outputs[1])).ravel()
        if not isinstance(matrix, Quantised):
            return self._packed.matrix(spaced(matrix, outputs, inputs), biases)
        scales = padded(matrix.scales.reshape(outputs), outputs[0], filled(outputs[1])).ravel()
        integers = spaced(matrix.integers, outputs, inputs)
        return self._packed.matrix(Quantised(integers, scales), biases)

    def _output(self) -> LinearLayout:
        """From what a step shows to logits."""
        width = self._config.embedding
        matrix = self._tensors.matrix(TABLES[2], self.vocabulary, width)
        if not isinstance(matrix, Quantised):
            return self._packed.matrix(self._table(matrix))
        integers = padded(matrix.integers, self.vocabulary, filled(width))
        return self._packed.matrix(Quantised(integers, matrix.scales))

    def _table(self, table: Array) -> Array:
        return padded(table, len(table), filled(self._config.embedding))

    def _tables(self, source: Array | None, target: Array) -> tuple[int, int]:
        """The addresses of the tables of sources and of targets, which may be one."""
        here = self._packed.address(self._table(target))
        if source is None:
            return 0, here
        tied = source.ctypes.data == target.ctypes.data
        return (here if tied else self._packed.address(self._table(source))), here

    @property
    def _score(self) -> NativeScore:
        return SCORES[self._config.attention] if self._config.looks else NativeScore()

    def _vector(self, name: str) -> int:
        """The address of a vector of the score; 0: it has none."""
        config = self._config
        if name not in self._score.vectors and not (name == "coverage" and config.coverage):
            return 0
        vector = self._tensors.floats(f"decoder.attention.score.{name}", config.dim)
        return self._packed.address(padded(vector, filled(config.dim)))

    def _scale(self) -> float:
        if self._score.sharpness:
            (sharpness,) = self._tensors.floats("decoder.attention.score.sharpness", 1)
            return math.exp(min(float(sharpness), SHARPEST))
        return float(self._config.dim**-0.5 if self._score.scaled else 1.0)

    def _session(self) -> AbstractContextManager[int]:
        engine = library()
        assert engine is not None
        return session_of(engine.jumok_begin_recurrent(self._model))
