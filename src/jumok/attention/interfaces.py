"""The replaceable parts of an attention module: scores, and operations on heads.

Each is a protocol: any class with these attributes and methods is such a part. Their names in
recipes are in `jumok/parts.py`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from jumok.attention.variants.sink import AttentionSink
from jumok.attention.variants.value_residual import ValueResidual
from jumok.shapes import Float, States, Tensor


@runtime_checkable  # the tests check annotations while they run
class ScoreFunction(Protocol):
    """The score of queries and keys. `queries` and `keys` are called first, then the object itself.

    The axes before the last two are those of the attention: (batch) in RNNs, (batch heads) in
    Transformers. Keys are transformed once for all steps of decoding.

    Attributes:
        kind: the name that observers receive.
        scale: the factor of the products of transformed queries and keys, or of v . tanh(q + k) if
            there is `energy`. None: the score is neither, and cannot be recomputed from the vectors
            alone.
        energy: the vector v of v . tanh(q + k); None for other scores.
    """

    @property
    def kind(self) -> str: ...

    @property
    def scale(self) -> float | None: ...

    @property
    def energy(self) -> Float[Tensor, " hidden"] | None: ...

    def queries(self, states: Float[Tensor, "*axes query dim"]) -> Float[Tensor, "*axes query _"]:
        """The transformed queries."""
        ...

    def keys(self, memory: Float[Tensor, "*axes key dim"]) -> Float[Tensor, "*axes key _"]:
        """The transformed keys."""
        ...

    def __call__(
        self, query: Float[Tensor, "*axes query dim"], key: Float[Tensor, "*axes key dim"]
    ) -> Float[Tensor, "*axes query key"]:
        """The scores of transformed queries and keys."""
        ...


def product_scale(score: ScoreFunction) -> float | None:
    """The factor of a score that is a product of vectors, which `attend` computes; or None."""
    return score.scale if score.energy is None else None


@runtime_checkable
class HeadProcess(Protocol):
    """Transforms queries or keys before the score: rotary positions, norms."""

    def __call__(
        self, states: Float[Tensor, "batch heads length dim"], position: int
    ) -> Float[Tensor, "batch heads length dim"]:
        """The states of each head, the first of which is at `position`."""
        ...


@runtime_checkable
class OutputProcess(Protocol):
    """Transforms the outputs of heads before the output projection: factors, gates."""

    def __call__(
        self, outputs: Float[Tensor, "batch heads query value_dim"], queries: States
    ) -> Float[Tensor, "batch heads query value_dim"]:
        """The weighted sums of each head's values, changed.

        Args:
            queries: (batch query dim), the states that the queries were computed from.
        """
        ...


@runtime_checkable
class ScoreBias(Protocol):
    """A bias on the scores: ALiBi."""

    def __call__(
        self,
        query: Float[Tensor, "batch heads query dim"],
        key: Float[Tensor, "batch kv_heads key dim"],
        position: int,
    ) -> Float[Tensor, "#batch #heads query key"]:
        """What is added to the scaled scores; the first query is at `position`, the keys from 0."""
        ...


@dataclass(frozen=True)
class HeadParts:
    """The parts of the heads of an attention module, besides its projections.

    Attributes:
        score: None: the product of query and key divided by sqrt(head_dim).
        process_queries: operations on queries, in this order, after the projection.
        process_keys: operations on keys, in this order, after the projection.
        process_output: in this order, before the gates and the output projection.
        bias: added to the scores; None adds nothing.
        value_residual: mixes the values of the first layer into those of this layer; None: nothing.
        sink: absorbs part of the weight; None: the weights of the keys sum to 1.
        window: the window of self-attention (`Observable.window`).
    """

    score: ScoreFunction | None = None
    process_queries: Sequence[HeadProcess] = ()
    process_keys: Sequence[HeadProcess] = ()
    process_output: Sequence[OutputProcess] = ()
    bias: ScoreBias | None = None
    sink: AttentionSink | None = None
    value_residual: ValueResidual | None = None
    window: int | None = None
