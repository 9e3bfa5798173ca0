"""Several attentions side by side, each with its own projections of query, key and value.

Source: Vaswani et al. 2017, section 3.2.2; lecture 002.
"""

from collections.abc import Sequence

from torch import nn

from jumok.attention.cache import KeyValueCache, LinearState
from jumok.attention.core import (
    attend,
    attend_by_scores,
    attend_with_weights,
    merge_heads,
    repeat_heads,
    split_heads,
)
from jumok.attention.interfaces import (
    HeadParts,
    HeadProcess,
    OutputProcess,
    product_scale,
)
from jumok.attention.masks import AttentionMask
from jumok.attention.observe import Attention, Observable
from jumok.attention.role import Role
from jumok.attention.scores import ScaledDotScore
from jumok.attention.variants.value_residual import FirstValues
from jumok.kernels.linear import Linear, linears
from jumok.kernels.noise import DropoutMask, Noise
from jumok.shapes import Float, States, Tensor
from jumok.specs import AttentionSizes

KeysValues = tuple[
    Float[Tensor, "batch kv_heads length head_dim"],
    Float[Tensor, "batch kv_heads length value_dim"],
]


class MultiHeadAttention(Observable):
    """Each head attends with its own projections; their outputs are concatenated and mixed.

    head_i = attend(X W_i^Q, Y W_i^K, Y W_i^V);  output = [head_1 ... head_h] W^O

    Other kinds of attention (`attention/variants/`) replace some of its methods.

    Attributes:
        outputs: the number of heads' outputs that are mixed.

    Args:
        dim: width of the states at input and output.
        head_dim: width of one head's query and key. The paper splits a fixed budget
            (dim / heads); full-size heads (head_dim = dim) are allowed.
        value_dim: width of one head's value, which may differ from `head_dim`.
        kv_heads: the number of heads of keys and values, each shared by heads / kv_heads heads of
            queries (Ainslie et al. 2023); None: each head has its own.
        parts: the score, and what heads are put through before and after it.
        bias: whether all layers have biases; or whether the projections and the mixing layer do.
    """

    def __init__(
        self,
        dim: int,
        heads: int,
        head_dim: int,
        value_dim: int,
        noise: Noise,
        dropout: float = 0.0,
        kv_heads: int | None = None,
        bias: bool | tuple[bool, bool] = True,
        parts: HeadParts = HeadParts(),  # noqa: B008 - frozen
        role: Role | None = None,
    ) -> None:
        super().__init__()
        self.role, self.window = role, parts.window
        self.heads, self.kv_heads = heads, kv_heads or heads
        bias, mixing_bias = bias if isinstance(bias, tuple) else (bias, bias)
        self.query = Linear(dim, heads * head_dim, bias)
        self.key = Linear(dim, self.kv_heads * head_dim, bias)
        self.value = Linear(dim, self.kv_heads * value_dim, bias)
        self.output = Linear(heads * value_dim, dim, mixing_bias)
        self.noise = noise
        self.dropout = dropout
        self.score = parts.score or ScaledDotScore(head_dim)
        self.process_queries = _listed(parts.process_queries)
        self.process_keys = _listed(parts.process_keys)
        self.process_output = _listed(parts.process_output)
        self.bias = parts.bias
        self.sink, self.value_residual = parts.sink, parts.value_residual
        self.outputs = heads

    @classmethod
    def of(
        cls, sizes: AttentionSizes, parts: HeadParts, noise: Noise, dropout: float, role: Role
    ) -> "MultiHeadAttention":
        """For a block of these sizes."""
        return cls(
            sizes.dim, sizes.heads, sizes.head_dim, sizes.value_dim, noise, dropout,
            sizes.kv_heads, (sizes.bias, sizes.output_bias), parts, role,
        )  # fmt: skip

    @property
    def has_output_process(self) -> bool:
        """Whether the heads' outputs are changed before they are mixed."""
        return len(self.process_output) > 0

    @property
    def factors(self) -> Float[Tensor, " heads"] | None:
        """The factors of the heads' maps in the output; None: all are 1."""
        return None

    def new_past(self) -> KeyValueCache | LinearState:
        """The past before the first step of decoding."""
        return KeyValueCache()

    def forward(
        self,
        queries: Float[Tensor, "batch query dim"],
        memory: Float[Tensor, "batch key dim"] | KeysValues,
        allowed: AttentionMask | None = None,
        position: int = 0,
        past: KeyValueCache | LinearState | None = None,
        first: FirstValues | None = None,
    ) -> Float[Tensor, "batch query dim"]:
        """The output for each query; self-attention if `queries` and `memory` are the same states.

        Args:
            memory: states, or what `keys_values` made of them before.
            allowed: which of all keys, those of the past first, each query may attend to.
            position: of the first query, and of the first state if there is no past.
            past: keys and values before the states of `memory`, which are added to it.
            first: where there are value residuals, those of this pass.
        """
        if isinstance(memory, tuple):
            return self.attend(queries, *memory, allowed, position)
        if past is None:
            made = self.keys_values(memory, position, first)
            return self.attend(queries, *made, allowed, position)
        assert isinstance(past, KeyValueCache)
        position = past.length
        seen = past.append(*self.keys_values(memory, position, first))
        return self.attend(queries, *seen, allowed, position)

    def keys_values(
        self, memory: States, position: int = 0, first: FirstValues | None = None
    ) -> tuple[Float[Tensor, "batch kv_heads length _"], Float[Tensor, "batch kv_heads length _"]]:
        """The keys and values; `position` is that of the first state, for rotary encoding."""
        key, value = (
            split_heads(each, self.kv_heads) for each in linears(memory, (self.key, self.value))
        )
        for process in self.process_keys:
            key = process(key, position)
        if self.value_residual is not None and first is not None:
            value = self.value_residual(value, first)
        return self.score.keys(key), value

    def attend(
        self,
        queries: Float[Tensor, "batch query dim"],
        key: Float[Tensor, "batch kv_heads key head_dim"],
        value: Float[Tensor, "batch kv_heads key value_dim"],
        allowed: AttentionMask | None = None,
        position: int = 0,
    ) -> Float[Tensor, "batch query dim"]:
        """The output for each query; `position` is that of the first query."""
        query = split_heads(self.query(queries), self.heads)
        for process in self.process_queries:
            query = process(query, position)
        query = self.score.queries(query)
        outputs = self.weighted_sum(query, key, self.expand_values(value), allowed, position)
        return self.project_output(outputs, queries)

    def expand_values(self, value: Tensor) -> Tensor:
        """The values that each head's weights are applied to: (batch kv_heads key _)."""
        return value

    def weighted_sum(
        self,
        query: Float[Tensor, "batch heads query _"],
        key: Float[Tensor, "batch kv_heads key _"],
        value: Float[Tensor, "batch kv_heads key value_dim"],
        allowed: AttentionMask | None,
        position: int,
    ) -> Float[Tensor, "batch heads query value_dim"]:
        """The heads' weighted sums of values, by the fastest path, or by one that is observed."""
        if self.window is not None:
            allowed = (allowed or AttentionMask()).within(self.window)
        bias = self.bias(query, key, position) if self.bias is not None else None
        drop = self.noise.mask(self.dropout) if self.training and self.dropout else None
        scale = product_scale(self.score)
        if scale is None or self.observers or self.edit is not None:
            return self._watched(query, key, value, allowed, bias, drop, position)
        if self.sink is not None:
            return self.sink(query, key, value, allowed, bias, drop, scale)
        return attend(query, key, value, allowed, bias, drop, scale)

    def project_output(
        self, outputs: Float[Tensor, "batch heads query value_dim"], queries: States
    ) -> Float[Tensor, "batch query dim"]:
        """The heads' outputs, processed, gated and mixed.

        Args:
            queries: (batch query dim), the states that the queries were computed from.
        """
        for process in self.process_output:
            outputs = process(outputs, queries)
        return self.output(merge_heads(self.gated(outputs)))

    def _watched(
        self,
        query: Float[Tensor, "batch heads query head_dim"],
        key: Float[Tensor, "batch kv_heads key head_dim"],
        value: Float[Tensor, "batch kv_heads key value_dim"],
        allowed: AttentionMask | None,
        bias: Float[Tensor, "#batch #heads query key"] | None,
        drop: DropoutMask | None,
        position: int,
    ) -> Float[Tensor, "batch heads query value_dim"]:
        """The readable path, for any score; calls the observers, with a key for each query."""
        score = self.score
        key, value = repeat_heads(key, self.heads), repeat_heads(value, self.heads)
        drawn = None if allowed is None else allowed.draw(query.shape[2], key.shape[2], key.device)
        scale, sink = product_scale(score), None if self.sink is None else self.sink.score
        more = drawn, bias, drop
        scores = score(query, key) if scale is None else None
        if scores is not None:
            outputs, weights = attend_by_scores(scores, value, *more, sink)
        else:
            outputs, weights = attend_with_weights(query, key, value, *more, scale, sink)
        if self.edit is not None:
            weights = self.edited(weights, position)
            outputs = weights @ value
        for observer in self.observers:
            observer(
                Attention(
                    query,
                    key,
                    value,
                    weights,
                    kind=score.kind,
                    scale=score.scale,
                    energy=score.energy,
                    bias=bias,
                    allowed=drawn,
                    sink=sink,
                    factors=self.factors,
                    scores=scores if score.scale is None else None,
                )
            )
        return outputs


def _listed(parts: Sequence[HeadProcess | OutputProcess]) -> nn.ModuleList | tuple[()]:
    """The processes as submodules; without any, nothing is called at every step."""
    modules = [part for part in parts if isinstance(part, nn.Module)]
    assert len(modules) == len(parts), "a process is a module"
    return nn.ModuleList(modules) if modules else ()
