"""The weights of stacks of blocks in the engine's layout.

Every width is filled up with zeros to a multiple of 16, in the weights on both sides of it, so that
what is beyond the true width is zero in every vector. What is linear and comes before or after a
linear layer (the matrix of a score, the scales of heads) is multiplied into it here.
"""

from collections.abc import Mapping
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from jumok.config.stack import StackConfig
from jumok.config.transformer import TransformerConfig
from jumok.engine import Precision
from jumok.engine.embedding import turns, vectors_of
from jumok.engine.packing import OUTPUT_BIAS, Array, Packed, Weights, output_table
from jumok.engine.quantising import GROUP, Quantised, stacked
from jumok.engine.structures import (
    BlockLayout,
    LinearLayout,
    ModelLayout,
    NormLayout,
    ProcessLayout,
    library,
)
from jumok.positions.tables import buckets, slopes
from jumok.specs import SHARPEST

Elements = TypeVar("Elements", Array, npt.NDArray[np.int8])

WIDTH_MULTIPLE = 16
ACTIVATIONS = ("relu", "gelu", "silu", "gelu_tanh")
LayerWeights = tuple[Array | Quantised, Array]
"""(outputs inputs), and the biases"""

PLAIN = {
    "score_cap": (None,),
    "sinks": (False,),
    "value_residual": (False,),
    "experts": (None,),
    "activation": ACTIVATIONS,
    "logit_cap": (None,),
}
"""The values of keys of recipes, other than names of parts, that the engine knows."""


def missing_part(config: StackConfig) -> str | None:
    """The key and value that the engine does not have; None if it serves the blocks."""
    specs = config.specs
    for key, _, spec in config.parts():
        # Scores of blocks are products; only RNNs have others on the engine.
        if spec is None or not spec.engine or (spec is specs.score and not specs.score.product):
            return f"{key} = {getattr(config, key)!r}"
    for key, known in PLAIN.items():
        value = getattr(config, key, None)
        if value not in known:
            return f"{key} = {value!r}"
    if len(config.process_heads) > 1:
        return f"process_heads = {config.process_heads!r}"
    if specs.score.layers and (config.process_heads or specs.positions.enters == "heads"):
        changed = "process_heads" if config.process_heads else f"{config.positions} positions"
        return f"score = {config.score!r} with {changed}"
    return "no C compiler" if library() is None else None


def filled(width: int) -> int:
    """The next multiple of 16."""
    return width + -width % WIDTH_MULTIPLE


def padded(array: Elements, *sizes: int) -> Elements:
    """The array with zeros after it up to these sizes."""
    return np.pad(array, [(0, size - have) for size, have in zip(sizes, array.shape, strict=True)])


def floats_of(matrix: Array | Quantised) -> Array:
    """The weights that a matrix stands for."""
    return matrix.floats() if isinstance(matrix, Quantised) else matrix


class PackedStacks:
    """An encoder and a decoder, or one of them, in the engine's layout.

    Without blocks of a decoder there is nothing of it, nor an output layer.

    Attributes:
        layout: what the engine reads; it is valid as long as this object is alive.
        positions: the number of positions of a text; None: no limit.

    Args:
        weights: by their names in a bundle, float32; tied ones may be there once.
        blocks: the number of blocks of the encoder and of the decoder.
        cross: whether the decoder attends to a Memory.
        integers: by their names, matrices that are already int8; of these `weights` needs only the
            tables.
    """

    def __init__(
        self,
        config: StackConfig,
        weights: Weights,
        kind: Precision,
        blocks: tuple[int, int],
        *,
        cross: bool,
        integers: Mapping[str, Quantised] | None = None,
    ) -> None:
        self._packed, self._config = Packed(kind), config
        self._weights, self._integers = weights, integers or {}
        sizes = config.sizes
        self._head_dim, self._value_dim = sizes.head_dim, sizes.value_dim
        self._kv_heads, self._specs = sizes.kv_heads, config.specs
        encoder = [self._block("encoder", n, False) for n in range(blocks[0])]
        decoder = [self._block("decoder", n, cross) for n in range(blocks[1])]
        self._blocks = (
            (BlockLayout * len(encoder))(*encoder),
            (BlockLayout * len(decoder))(*decoder),
        )
        read = weights.get("encoder.embedding.table")
        written = weights.get("decoder.embedding.table", read)
        tables = {"decoder": written if blocks[1] else None, "encoder": read if blocks[0] else None}
        sides = {side: table for side, table in tables.items() if table is not None}
        self.vocabulary = len(next(iter(sides.values())))
        self.positions: int | None = None
        self.layout = ModelLayout(
            filled(config.dim), config.heads, self._kv_heads, filled(self._head_dim),
            filled(self._value_dim), filled(config.feedforward), config.dim, self._head_dim,
            len(encoder), len(decoder), config.norm == "post", getattr(config, "parallel", False),
            ACTIVATIONS.index(config.activation), len(self._specs.feedforward.inner) > 1,
            config.relative_distance, config.norm_epsilon,
            self._head_dim**-0.5 if self._specs.score.scaled else 1.0,
        )  # fmt: skip
        self._embed(sides)
        self.layout.source_norm = self._norm("encoder.embedding.norm")
        self.layout.target_norm = self._norm("decoder.embedding.norm")
        self.layout.encoder_first = self._norm("encoder.first_norm")
        self.layout.decoder_first = self._norm("decoder.first_norm")
        self.layout.encoder, self.layout.decoder = self._blocks
        if blocks[1]:
            self.layout.output = self._output()

    @property
    def arrays(self) -> Packed:
        """The arrays that the layout points to."""
        return self._packed

    def _embed(self, sides: Mapping[str, Array]) -> None:
        """The vectors of words and positions, wherever positions enter."""
        layout, config, packed = self.layout, self._config, self._packed
        dim, reach = filled(config.dim), []
        tied = len({table.ctypes.data for table in sides.values()}) < len(sides)
        for side, table in sides.items():
            vectors = vectors_of(config, self._matrix, side, table)
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
        if self._specs.positions.enters == "heads":
            table = turns(config)
            reach.append(len(table))
            layout.turn = packed.address(padded(table, len(table), 2, filled(self._head_dim)))
        if self._specs.positions.buckets:
            for side in sides:
                name = "target_biases" if side == "decoder" else "source_biases"
                setattr(layout, name, packed.address(self._biases(side)))
        elif self._specs.positions.enters == "scores":
            layout.slopes = packed.address(np.array(slopes(config.heads), np.float32))
        self.positions = min(reach, default=None)

    def _biases(self, side: str) -> Array:
        """(heads distances), from the farthest before a query to the farthest after it."""
        table, config = self._weights[f"{side}.blocks.0.self_attention.bias.table"], self._config
        rows = buckets(config.relative_buckets, config.relative_distance, causal=side == "decoder")
        return np.ascontiguousarray(table[rows].T)

    def _norm(self, name: str) -> NormLayout:
        """The norm of this name; an empty one where the model has none."""
        dim, gain = filled(self._config.dim), self._weights.get(f"{name}.weight")
        bias = self._weights.get(f"{name}.bias")
        return NormLayout(
            0 if gain is None else self._packed.address(padded(gain, dim)),
            0 if bias is None else self._packed.address(padded(bias, dim)),
        )

    def _matrix(self, name: str) -> Array:
        stored = self._integers.get(name)
        return self._weights[name] if stored is None else stored.floats()

    def _output(self) -> LinearLayout:
        name, dim = output_table(self._integers, self._weights), self._config.dim
        rows = len(self._integers[name].scales if name in self._integers else self._weights[name])
        matrix = self._filled(name, (1, rows), (1, dim), exact=True)
        return self._packed.matrix(matrix, self._weights.get(OUTPUT_BIAS))

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
        stored = self._integers.get(name)
        if stored is None:
            matrix = self._weights[name].reshape(*outputs, *inputs)
            return padded(matrix, *sizes).reshape(flat)
        integers = padded(stored.integers.reshape(*outputs, *inputs), *sizes)
        if stored.grouped:  # no width of inputs is filled up: see `jumok.bundle.quantised`
            scales = padded(stored.scales.reshape(*outputs, -1), groups, high, flat[1] // GROUP)
            return Quantised(integers.reshape(flat), scales.reshape(flat[0], -1))
        scales = padded(stored.scales.reshape(outputs), groups, high)
        return Quantised(integers.reshape(flat), scales.ravel())

    def _layer(self, name: str, outputs: tuple[int, int], inputs: tuple[int, int]) -> LayerWeights:
        matrix = self._filled(f"{name}.weight", outputs, inputs)
        bias = self._weights.get(f"{name}.bias")
        groups, width = outputs[0], filled(outputs[1])
        if bias is None:
            return matrix, np.zeros(groups * width, np.float32)
        return matrix, padded(bias.reshape(outputs), groups, width).ravel()

    def _together(self, *layers: LayerWeights) -> LinearLayout:
        """Several layers as one, their outputs one after the other."""
        matrices, biases = zip(*layers, strict=True)
        integers = [matrix for matrix in matrices if isinstance(matrix, Quantised)]
        whole: Array | Quantised
        if len(integers) == len(matrices):
            whole = stacked(integers)
        else:
            whole = np.concatenate([floats_of(matrix) for matrix in matrices])
        return self._packed.matrix(whole, np.concatenate(biases))

    def _projection(self, name: str, what: str) -> LayerWeights:
        config, dim = self._config, (1, self._config.dim)
        if what == "query":
            return self._layer(f"{name}.query", (config.heads, self._head_dim), dim)
        if what == "value":
            return self._layer(f"{name}.value", (self._kv_heads, self._value_dim), dim)
        key, biases = self._layer(f"{name}.key", (self._kv_heads, self._head_dim), dim)
        if "key" not in self._specs.score.layers:
            return key, biases
        square = (1, self._head_dim), (1, self._head_dim)
        score, bias = self._layer(f"{name}.score.key", *square)
        heads, width, matrix = self._kv_heads, filled(self._head_dim), floats_of(score)
        return (
            (matrix @ floats_of(key).reshape(heads, width, -1)).reshape(heads * width, -1),
            (biases.reshape(heads, width) @ matrix.T + bias).ravel(),
        )

    def _process(self, name: str, what: str, heads: int) -> ProcessLayout:
        """What the heads of queries, or of keys, are put through."""
        process = ProcessLayout()
        gain = self._weights.get(f"{name}.process_{what}.0.weight")
        if gain is not None:
            process.gain = self._packed.address(padded(gain, filled(self._head_dim)))
        sharpness = self._weights.get(f"{name}.score.sharpness")
        if sharpness is not None:
            keys = what == "keys"
            unit = np.ones(heads) if keys else np.exp(np.minimum(sharpness, SHARPEST))
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
            by_head = by_head * self._weights[f"{name}.process_output.{number}.gain"][:, None]
        return self._packed.matrix(by_head.reshape(whole.shape), bias)

    def _block(self, side: str, number: int, cross: bool) -> BlockLayout:
        config, kv_heads, name = self._config, self._kv_heads, f"{side}.blocks.{number}"
        own, other = f"{name}.self_attention", f"{name}.cross_attention"
        hidden, dim = (1, config.feedforward), (1, config.dim)
        block = BlockLayout(after_self=self._norm(f"{name}.after_self.norm"))
        if side == "decoder" and isinstance(config, TransformerConfig):
            block.recurrent = config.decoder.specs.attention.recurrent
        projections = (self._projection(own, what) for what in ("query", "key", "value"))
        if block.recurrent:
            projections = (self._layer(f"{own}.{what}", dim, dim) for what in ("forget", "input"))
        else:
            block.output = self._mixed(own)
            block.queries = self._process(own, "queries", config.heads)
            block.keys = self._process(own, "keys", kv_heads)
        block.projections = self._together(*projections)
        if cross:
            block.cross_query = self._together(self._projection(other, "query"))
            block.cross_projections = self._together(
                *(self._projection(other, what) for what in ("key", "value"))
            )
            block.cross_output = self._mixed(other)
            block.cross_queries = self._process(other, "queries", config.heads)
            block.cross_keys = self._process(other, "keys", kv_heads)
            block.after_cross = self._norm(f"{name}.after_cross.norm")
        inner = self._specs.feedforward.inner
        block.inner = self._together(
            *(self._layer(f"{name}.feedforward.{layer}", hidden, dim) for layer in inner)
        )
        block.outer = self._together(self._layer(f"{name}.feedforward.outer", dim, hidden))
        block.after_feedforward = self._norm(f"{name}.after_feedforward.norm")
        block.window = config.window_of(number) or 0
        return block
