"""The weights of stacks of blocks in the engine's layout.

Every width is filled up with zeros to a multiple of 16, in the weights on both sides of it, so that
what is beyond the true width is zero in every vector. What is linear and comes before or after a
linear layer (a bilinear score, the scales of heads) is multiplied into it here.
"""

from typing import TypeVar

import numpy as np
import numpy.typing as npt

from jumok.config.stack import StackConfig
from jumok.engine.embedding import FURTHEST, slopes, turns, vectors_of
from jumok.engine.packing import Array, Kind, Packed
from jumok.engine.parts import ACTIVATIONS, FEEDFORWARDS, NORMS, SCORES
from jumok.engine.quantising import Quantised, together
from jumok.engine.structures import (
    BlockLayout,
    LinearLayout,
    ModelLayout,
    NormLayout,
    ProcessLayout,
)
from jumok.engine.tensors import TABLES, Tensors

Numbers = TypeVar("Numbers", Array, npt.NDArray[np.int8])

LANES = 16
Layer = tuple[Array | Quantised, Array]
"""(outputs inputs), and the biases"""

SHARPEST = np.log(100.0)
"""The largest sharpness of a cosine score; see attention/cosine.py."""


def filled(width: int) -> int:
    """The next multiple of 16."""
    return width + -width % LANES


def padded(array: Numbers, *sizes: int) -> Numbers:
    """The array with zeros after it up to these sizes."""
    return np.pad(array, [(0, size - have) for size, have in zip(sizes, array.shape, strict=True)])


def floats_of(matrix: Array | Quantised) -> Array:
    """The weights that a matrix stands for."""
    return matrix.floats() if isinstance(matrix, Quantised) else matrix


class PackedStacks:
    """An encoder and a decoder, or one of them, in the engine's layout.

    Attributes:
        layout: what the engine reads; it is valid as long as this object is alive.
        positions: the number of positions of a text; None: no limit.
        vocabulary: the number of tokens.

    Args:
        blocks: the number of blocks of the encoder and of the decoder.
        cross: whether the decoder attends to a Memory.
        tied: the names of tables that are one.

    Raises:
        UnfitTensors: one is missing, or of another shape.
    """

    def __init__(
        self,
        config: StackConfig,
        tensors: Tensors,
        kind: Kind,
        blocks: tuple[int, int],
        *,
        cross: bool,
        tied: tuple[str, ...],
    ) -> None:
        self._packed, self._config, self._tensors = Packed(kind), config, tensors
        tensors.tie(tied)
        self._head_dim = config.head_dim or config.dim // config.heads
        self._value_dim = config.value_dim or self._head_dim
        self._kv_heads = config.kv_heads or config.heads
        encoder = [self._block("encoder", n, False) for n in range(blocks[0])]
        decoder = [self._block("decoder", n, cross) for n in range(blocks[1])]
        self._blocks = (
            (BlockLayout * len(encoder))(*encoder),
            (BlockLayout * len(decoder))(*decoder),
        )
        written = tensors.floats(TABLES[1], None, config.dim)
        self.vocabulary = len(written)
        read = tensors.floats(TABLES[0], self.vocabulary, config.dim) if blocks[0] else None
        self.positions: int | None = None
        self.layout = ModelLayout(
            filled(config.dim), config.heads, self._kv_heads, filled(self._head_dim),
            filled(self._value_dim), filled(config.feedforward), config.dim, self._head_dim,
            len(encoder), len(decoder), config.norm == "post",
            ACTIVATIONS.index(config.activation), "gate" in FEEDFORWARDS[config.feedforward_kind],
            config.norm_epsilon, self._head_dim**-0.5 if SCORES[config.score].scaled else 1.0,
        )  # fmt: skip
        self._embed(read, written)
        if config.norm == "pre":
            if encoder:
                self.layout.encoder_first = self._norm("encoder.first_norm")
            self.layout.decoder_first = self._norm("decoder.first_norm")
        self.layout.encoder, self.layout.decoder = self._blocks
        self.layout.output = self._output()

    @property
    def arrays(self) -> Packed:
        """The arrays that the layout points to."""
        return self._packed

    def _embed(self, read: Array | None, written: Array) -> None:
        """The vectors of words and positions, wherever positions enter."""
        layout, config, packed = self.layout, self._config, self._packed
        dim, reach = filled(config.dim), []
        tied = read is not None and read.ctypes.data == written.ctypes.data
        sides = {"decoder": written} if read is None else {"decoder": written, "encoder": read}
        for side, table in sides.items():
            vectors = vectors_of(config, self._tensors.floats, side, table)
            target = side == "decoder"
            if not target and tied and config.positions_join == "add":
                layout.source_table = layout.target_table
            else:
                address = packed.address(padded(vectors.words, len(table), dim))
                setattr(layout, "target_table" if target else "source_table", address)
            if vectors.places is not None:
                reach.append(len(vectors.places))
                address = packed.address(padded(vectors.places, reach[-1], dim))
                setattr(layout, "target_places" if target else "source_places", address)
            if vectors.by_fraction is not None:
                layout.source_fraction = packed.address(padded(vectors.by_fraction, 1, dim))
        if config.positions == "rotary":
            table = turns(self._head_dim, config.rotary_base)
            layout.turn = packed.address(padded(table, FURTHEST, 2, filled(self._head_dim)))
            reach.append(FURTHEST)
        if config.positions == "alibi":
            layout.slopes = packed.address(np.array(slopes(config.heads), np.float32))
        self.positions = min(reach, default=None)

    def _norm(self, name: str) -> NormLayout:
        """The norm of this name."""
        dim = self._config.dim
        weights = (
            self._tensors.floats(f"{name}.{key}", dim) for key in NORMS[self._config.norm_kind]
        )
        return NormLayout(*(self._packed.address(padded(each, filled(dim))) for each in weights))

    def _output(self) -> LinearLayout:
        """From states to logits."""
        sizes = (1, self.vocabulary), (1, self._config.dim)
        return self._packed.matrix(self._filled(TABLES[2], *sizes, exact=True))

    def _filled(
        self, name: str, outputs: tuple[int, int], inputs: tuple[int, int], *, exact: bool = False
    ) -> Array | Quantised:
        """A matrix whose outputs and inputs are so many groups of so many elements.

        Args:
            exact: the outputs are not filled up.
        """
        (groups, width), (in_groups, in_width) = outputs, inputs
        high = width if exact else filled(width)
        sizes = groups, high, in_groups, filled(in_width)
        flat = groups * high, in_groups * sizes[3]
        stored = self._tensors.matrix(name, groups * width, in_groups * in_width)
        if not isinstance(stored, Quantised):
            return padded(stored.reshape(*outputs, *inputs), *sizes).reshape(flat)
        integers = padded(stored.integers.reshape(*outputs, *inputs), *sizes)
        scales = padded(stored.scales.reshape(outputs), groups, high)
        return Quantised(integers.reshape(flat), scales.ravel())

    def _layer(self, name: str, outputs: tuple[int, int], inputs: tuple[int, int]) -> Layer:
        """A linear layer; see `_filled`."""
        matrix = self._filled(f"{name}.weight", outputs, inputs)
        if not self._config.bias:
            return matrix, np.zeros(len(matrix), np.float32)
        return matrix, self._biases(name, *outputs)

    def _biases(self, name: str, groups: int, width: int) -> Array:
        bias = self._tensors.floats(f"{name}.bias", groups * width)
        return padded(bias.reshape(groups, width), groups, filled(width)).ravel()

    def _together(self, *layers: Layer) -> LinearLayout:
        """Several layers as one, their outputs one after the other."""
        matrices, biases = zip(*layers, strict=True)
        integers = [matrix for matrix in matrices if isinstance(matrix, Quantised)]
        whole: Array | Quantised
        if len(integers) == len(matrices):
            whole = together(integers)
        else:
            whole = np.concatenate([floats_of(matrix) for matrix in matrices])
        return self._packed.matrix(whole, np.concatenate(biases))

    def _projection(self, name: str, what: str) -> Layer:
        config, dim = self._config, (1, self._config.dim)
        if what == "query":
            return self._layer(f"{name}.query", (config.heads, self._head_dim), dim)
        if what == "value":
            return self._layer(f"{name}.value", (self._kv_heads, self._value_dim), dim)
        key, biases = self._layer(f"{name}.key", (self._kv_heads, self._head_dim), dim)
        if not SCORES[config.score].layers:
            return key, biases
        square, score = (1, self._head_dim), f"{name}.score.key"
        matrix = floats_of(self._filled(f"{score}.weight", square, square))
        bias = self._biases(score, *square)
        heads, width = self._kv_heads, filled(self._head_dim)
        return (
            (matrix @ floats_of(key).reshape(heads, width, -1)).reshape(heads * width, -1),
            (biases.reshape(heads, width) @ matrix.T + bias).ravel(),
        )

    def _process(self, name: str, what: str) -> ProcessLayout:
        """What the heads of queries, or of keys, are put through."""
        process, config, tensors = ProcessLayout(), self._config, self._tensors
        if config.process_heads:
            gain = tensors.floats(f"{name}.process_{what}.0.weight", self._head_dim)
            process.gain = self._packed.address(padded(gain, filled(self._head_dim)))
        if SCORES[config.score].sharpness:
            sharpness = tensors.floats(f"{name}.score.sharpness", config.heads)
            keys = what == "keys"
            unit = np.ones(self._kv_heads) if keys else np.exp(np.minimum(sharpness, SHARPEST))
            process.unit = self._packed.address(unit.astype(np.float32))
        return process

    def _mixed(self, name: str) -> LinearLayout:
        """The output layer of an attention, with the scales of its heads."""
        config = self._config
        heads = (config.heads, self._value_dim)
        matrix, bias = self._layer(f"{name}.output", (1, config.dim), heads)
        if not config.process_output:
            return self._packed.matrix(matrix, bias)
        whole = floats_of(matrix)
        by_head = whole.reshape(len(whole), config.heads, -1)
        for number in range(len(config.process_output)):
            gain = self._tensors.floats(f"{name}.process_output.{number}.gain", config.heads)
            by_head = by_head * gain[:, None]
        return self._packed.matrix(by_head.reshape(whole.shape), bias)

    def _block(self, side: str, number: int, cross: bool) -> BlockLayout:
        config, name = self._config, f"{side}.blocks.{number}"
        own, other = f"{name}.self_attention", f"{name}.cross_attention"
        block = BlockLayout(
            self._together(*(self._projection(own, what) for what in ("query", "key", "value"))),
            self._mixed(own),
            self._process(own, "queries"),
            self._process(own, "keys"),
            self._norm(f"{name}.after_self.norm"),
        )
        if cross:
            block.cross_query = self._together(self._projection(other, "query"))
            block.cross_projections = self._together(
                *(self._projection(other, what) for what in ("key", "value"))
            )
            block.cross_output = self._mixed(other)
            block.cross_queries = self._process(other, "queries")
            block.cross_keys = self._process(other, "keys")
            block.after_cross = self._norm(f"{name}.after_cross.norm")
        hidden, dim = (1, config.feedforward), (1, config.dim)
        forward = f"{name}.feedforward"
        block.inner = self._together(
            *(
                self._layer(f"{forward}.{layer}", hidden, dim)
                for layer in FEEDFORWARDS[config.feedforward_kind]
            )
        )
        outer = self._layer(f"{forward}.outer", dim, hidden)
        block.outer = self._together(outer)
        block.after_feedforward = self._norm(f"{name}.after_feedforward.norm")
        block.window = config.window_of(number) or 0
        return block
