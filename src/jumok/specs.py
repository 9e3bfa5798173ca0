"""What the parts of a model say of themselves before they are built, and without torch.

`jumok/parts.py` has a record for each part, beside what builds it. Checks of recipes, the sizes and
tensors of models, plans and the native engine ask the record, and know no part by its name. A
field that is left out promises nothing: the engine does not have the part, and its scores are no
products.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

Shapes = dict[str, tuple[int, ...]]
Entrance = Literal["vectors", "heads", "scores"]

SHARPEST = math.log(100.0)
"""The largest sharpness of a cosine score (`attention/cosine.py`): its temperature is never below
0.01.
"""


def linear(name: str, inputs: int, outputs: int, bias: bool = True) -> Shapes:
    """The tensors of a linear layer."""
    shapes: Shapes = {f"{name}.weight": (outputs, inputs)}
    return shapes | {f"{name}.bias": (outputs,)} if bias else shapes


def under(name: str, shapes: Shapes) -> Shapes:
    """The tensors of a module as those of the model that has it under this name."""
    return {f"{name}.{key}": shape for key, shape in shapes.items()}


def matrices(shapes: Shapes, start: str = "") -> int:
    """The numbers in the matrices whose names begin so; biases and the gains of norms are left
    out.
    """
    return sum(
        math.prod(shape)
        for name, shape in shapes.items()
        if len(shape) > 1 and name.startswith(start)
    )


@dataclass(frozen=True)
class AttentionSizes:
    """The sizes that a kind of attention is built with (the role "attention").

    Attributes:
        dim: width of the states.
        heads, kv_heads: their number, and that of the heads of keys and values.
        head_dim, value_dim: widths of one head's query, and of its value.
        bias: whether the projections of queries, keys and values have biases.
        epsilon: of norms.
        latent_dim: width of what keys and values are made of; 0: they are projected directly.
        query_latent_dim: the same of queries.
        rotary_dim: of `head_dim`, how much rotary positions turn.
        output_bias: whether the layer that mixes the heads has a bias.
    """

    dim: int
    heads: int
    kv_heads: int
    head_dim: int
    value_dim: int
    bias: bool = True
    epsilon: float = 1e-5
    latent_dim: int = 0
    query_latent_dim: int = 0
    rotary_dim: int = 0
    output_bias: bool = True


@dataclass(frozen=True, kw_only=True)
class Spec:
    """What every part says.

    Attributes:
        engine: whether the native engine computes it, from these tensors.
    """

    role: ClassVar[str]
    engine: bool = False


@dataclass(frozen=True, kw_only=True)
class NormSpec(Spec):
    """A norm of the stream.

    Attributes:
        vectors: the names of its parameters, each as wide as what it normalises.
        kept: vectors that it keeps for the backward pass: of the stream its output included, of
            heads for each query and key.
    """

    role = "norm"
    vectors: tuple[str, ...] = ()
    kept: int = 1

    def tensors(self, dim: int) -> Shapes:
        """The names and shapes of its parameters."""
        return dict.fromkeys(self.vectors, (dim,))


@dataclass(frozen=True, kw_only=True)
class HeadProcessSpec(NormSpec):
    """What queries and keys are put through."""

    role = "head_process"


@dataclass(frozen=True, kw_only=True)
class FeedForwardSpec(Spec):
    """A feed-forward layer: linear layers side by side to its hidden width, and one back.

    Attributes:
        inner: the names of the layers side by side, in the engine's order.
        kept: vectors of the hidden width that it keeps for the backward pass, without those of
            its activation and dropout.
    """

    role = "feedforward"
    inner: tuple[str, ...] = ("inner",)
    kept: int = 1

    def tensors(self, dim: int, hidden: int, bias: bool) -> Shapes:
        """The names and shapes of its parameters."""
        shapes = linear("outer", hidden, dim, bias)
        for layer in self.inner:
            shapes |= linear(layer, dim, hidden, bias)
        return shapes


@dataclass(frozen=True, kw_only=True)
class ScoreSpec(Spec):
    """A score of queries and keys.

    Attributes:
        product: whether it is a product of the transformed query and key.
        hidden: whether it is computed from a hidden vector for each pair of them. A score that is
            neither is a number for each pair, of which nothing else is kept.
        scaled: whether the product is divided by the root of the width.
        layers: of "query" and "key", those that have a linear layer, which the heads share.
        vectors: the names of its parameters of the width of keys.
        factors: the names of its parameters with a number for each head.
        kept: vectors that it keeps for each query and key to transform them.
        covers: whether RNNs may add to its keys how much they were attended to before.
    """

    role = "score"
    product: bool = False
    hidden: bool = False
    scaled: bool = False
    layers: tuple[str, ...] = ()
    vectors: tuple[str, ...] = ()
    factors: tuple[str, ...] = ()
    kept: int = 0
    covers: bool = False

    @property
    def turns(self) -> bool:
        """Whether it stays the same if the query and the key are turned by the same angle."""
        return self.product and not (self.layers or self.vectors)

    def tensors(self, width: int, heads: int) -> Shapes:
        """The names and shapes of its parameters."""
        shapes: Shapes = dict.fromkeys(self.vectors, (width,))
        shapes |= dict.fromkeys(self.factors, (heads,))
        for layer in self.layers:
            shapes |= linear(layer, width, width)
        return shapes


@dataclass(frozen=True, kw_only=True)
class OutputProcessSpec(Spec):
    """What the outputs of heads are put through.

    Attributes:
        factors: the names of its parameters with a number for each head.
        gate: what gets a number of its own, computed from the states by a linear layer.
    """

    role = "output_process"
    factors: tuple[str, ...] = ()
    gate: Literal["head", "element"] | None = None

    def gates(self, sizes: AttentionSizes) -> int:
        """The number of gates for each query."""
        return sizes.heads * {"head": 1, "element": sizes.value_dim, None: 0}[self.gate]

    def tensors(self, sizes: AttentionSizes) -> Shapes:
        """The names and shapes of its parameters."""
        gates: Shapes = {"weight": (self.gates(sizes), sizes.dim)}
        return dict.fromkeys(self.factors, (sizes.heads,)) | (gates if self.gate else {})


@dataclass(frozen=True, kw_only=True)
class PositionSpec(Spec):
    """An encoding of positions.

    Attributes:
        enters: where it enters a model (`positions/interfaces.py`).
        narrow: whether its vectors are single numbers.
        learned: whether its table of vectors is a parameter.
        buckets: whether it has a table of biases, with relative_buckets rows, which the blocks of a
            stack share.
        pairs: whether it turns the elements of heads in pairs.
        limited: whether it is made for texts of up to `max_length` tokens.
    """

    role = "positions"
    enters: Entrance = "vectors"
    narrow: bool = False
    learned: bool = False
    buckets: bool = False
    pairs: bool = False
    limited: bool = False

    def width(self, dim: int, length: int) -> int:  # noqa: ARG002 - others need the length
        """The width of its vectors in a model of the width `dim`."""
        return 1 if self.narrow else dim

    def reach(self, length: int) -> int | None:
        """The number of positions if up to `length` are asked for; None: it is unlimited."""
        return length if self.learned else None


@dataclass(frozen=True, kw_only=True)
class BinaryPositionSpec(PositionSpec):
    """Vectors of the digits of a binary number."""

    def width(self, dim: int, length: int) -> int:  # noqa: ARG002
        """The number of digits."""
        return max(1, (length - 1).bit_length())

    def reach(self, length: int) -> int | None:
        """As many as there are numbers with these digits."""
        return 1 << self.width(0, length)


@dataclass(frozen=True, kw_only=True)
class AttentionSpec(Spec):
    """A kind of self-attention, by default that of usual heads.

    Attributes:
        softmax: whether it weighs by the softmax of a score, and by nothing else.
        scores: whether positions may be added to its scores.
        pairs: whether its heads, and those of its keys, form pairs.
        keys: the keys of [model] that belong to it alone.
        refuses: the keys of [model] that have to keep their defaults, which are these.
        vectors: the names of further parameters, and their widths as multiples of head_dim.
        recurrent: whether it reads from left to right and keeps one state of fixed size: it has
            no heads, scores or positions, and only a decoder may have it.
        values: the width of what a head's weights are multiplied with, as a multiple of value_dim.
        kept: multiples of head_dim and of value_dim that are kept for the backward pass: for each
            head and query, and for each head of keys and state.
    """

    role = "attention"
    softmax: bool = False
    scores: bool = True
    pairs: bool = False
    recurrent: bool = False
    keys: tuple[str, ...] = ()
    refuses: Mapping[str, object] = field(default_factory=dict)
    vectors: Mapping[str, int] = field(default_factory=dict)
    values: int = 1
    kept: tuple[tuple[int, int], tuple[int, int]] = ((1, 2), (1, 1))

    def turned_dim(self, head_dim: int, asked: int | None, turns: bool) -> int:  # noqa: ARG002
        """How much of a head's query and key positions turn.

        Args:
            asked: the recipe's `rotary_dim`.
            turns: whether its positions turn queries and keys.
        """
        return asked or head_dim

    def tensors(self, sizes: AttentionSizes) -> Shapes:
        """The names and shapes of its parameters, without those of its parts."""
        dim, bias = sizes.dim, sizes.bias
        return {
            **linear("query", dim, sizes.heads * sizes.head_dim, bias),
            **linear("key", dim, sizes.kv_heads * sizes.head_dim, bias),
            **linear("value", dim, sizes.kv_heads * sizes.value_dim, bias),
            **linear("output", sizes.heads * sizes.value_dim, dim, sizes.output_bias),
            **{key: (times * sizes.head_dim,) for key, times in self.vectors.items()},
        }

    def kept_numbers(self, sizes: AttentionSizes, kv_heads: int) -> int:
        """The numbers that are kept for each position, without scores and weights.

        Args:
            kv_heads: the heads of keys and values that are kept: copies for each head where
                scores are drawn.
        """
        (query, output), (key, value) = self.kept
        of_queries = sizes.heads * (query * sizes.head_dim + output * sizes.value_dim)
        return of_queries + kv_heads * (key * sizes.head_dim + value * sizes.value_dim)


@dataclass(frozen=True, kw_only=True)
class LatentSpec(AttentionSpec):
    """Attention whose keys and values are made of one short vector for each position."""

    def turned_dim(self, head_dim: int, asked: int | None, turns: bool) -> int:
        """A part of the head that no later matrix may change; by default half of it."""
        return asked or (max(2, head_dim // 4 * 2) if turns else 0)

    def tensors(self, sizes: AttentionSizes) -> Shapes:
        """The names and shapes of its parameters, without those of its parts."""
        dim, made, asked = sizes.dim, sizes.latent_dim, sizes.query_latent_dim
        fixed = sizes.head_dim - sizes.rotary_dim
        of_queries = linear("compress_query.0", dim, asked, sizes.bias)
        of_queries["compress_query.1.weight"] = (asked,)
        return {
            **(of_queries if asked else {}),
            **linear("query", asked or dim, sizes.heads * sizes.head_dim, bias=False),
            **linear("compress", dim, made + sizes.rotary_dim, sizes.bias),
            "norm.weight": (made,),
            **linear("key", made, sizes.heads * fixed, bias=False),
            **linear("value", made, sizes.heads * sizes.value_dim, bias=False),
            **linear("output", sizes.heads * sizes.value_dim, dim, sizes.output_bias),
        }

    def kept_numbers(self, sizes: AttentionSizes, kv_heads: int) -> int:  # noqa: ARG002
        """The expanded keys and values, and what they and the queries are made of."""
        expanded = super().kept_numbers(sizes, sizes.heads)
        return expanded + 3 * (sizes.latent_dim + sizes.query_latent_dim) + sizes.rotary_dim


@dataclass(frozen=True, kw_only=True)
class RecurrenceSpec(AttentionSpec):
    """A recurrence in the place of self-attention: a forget gate, and what it lets in."""

    recurrent: bool = True
    scores: bool = False

    def tensors(self, sizes: AttentionSizes) -> Shapes:
        """The names and shapes of its parameters."""
        gate = linear("forget", sizes.dim, sizes.dim, sizes.bias)
        return gate | linear("input", sizes.dim, sizes.dim, bias=False)

    def kept_numbers(self, sizes: AttentionSizes, kv_heads: int) -> int:  # noqa: ARG002
        """Gates, inputs and their products in the rounds of the running sum, of short texts."""
        return 12 * sizes.dim
