"""Several attentions side by side, each with its own projections of query, key and value.

Source: Vaswani et al. 2017, section 3.2.2; lecture 002.
"""

from collections.abc import Callable

from jumok.attention.cache import KeyValueCache
from jumok.attention.core import attend, attend_with_weights, merge_heads, split_heads
from jumok.attention.observe import Attention, Observable
from jumok.kernels.linear import Linear
from jumok.kernels.noise import Noise
from jumok.shapes import Bool, Float, States, Tensor

Rotate = Callable[[Tensor, int], Tensor]
Bias = Callable[[Tensor, Tensor, int], Tensor]
KeysValues = tuple[
    Float[Tensor, "batch heads length head_dim"], Float[Tensor, "batch heads length value_dim"]
]


class MultiHeadAttention(Observable):
    """Each head attends with its own projections; their outputs are concatenated and mixed.

    head_i = attend(X W_i^Q, Y W_i^K, Y W_i^V);  output = [head_1 ... head_h] W^O

    Args:
        dim: width of the states at input and output.
        heads: the number of heads.
        head_dim: width of one head's query and key. The paper splits a fixed budget
            (dim / heads); full-size heads (head_dim = dim) are allowed.
        value_dim: width of one head's value, which may differ from `head_dim`.
        dropout: share of the weights dropped while training.
        noise: where dropout masks come from.
        rotate: turns queries and keys by their position (rotary encoding); called with
            (states, first position). None leaves them unchanged.
        bias: added to the scores for the distance of query and key (ALiBi); called with
            (query, key, position of the first query), keys counted from 0. None adds nothing.
    """

    def __init__(
        self,
        dim: int,
        heads: int,
        head_dim: int,
        value_dim: int,
        noise: Noise,
        dropout: float = 0.0,
        rotate: Rotate | None = None,
        bias: Bias | None = None,
    ) -> None:
        super().__init__()
        self.heads = heads
        self.query = Linear(dim, heads * head_dim)
        self.key = Linear(dim, heads * head_dim)
        self.value = Linear(dim, heads * value_dim)
        self.output = Linear(heads * value_dim, dim)
        self.noise = noise
        self.dropout = dropout
        self.rotate = rotate
        self.bias = bias

    def forward(
        self,
        queries: Float[Tensor, "batch query dim"],
        memory: Float[Tensor, "batch key dim"] | KeysValues,
        allowed: Bool[Tensor, "#batch 1 #query _"] | None = None,
        position: int = 0,
        past: KeyValueCache | None = None,
    ) -> Float[Tensor, "batch query dim"]:
        """The output for each query; self-attention if `queries` and `memory` are the same states.

        Args:
            memory: states, or what `keys_values` made of them before.
            allowed: which of all keys, those of the past first, each query may attend to.
            position: of the first query, and of the first state if there is no past.
            past: keys and values before the states of `memory`, which are added to it.
        """
        if isinstance(memory, tuple):
            return self.look(queries, *memory, allowed, position)
        if past is None:
            return self.look(queries, *self.keys_values(memory, position), allowed, position)
        position = past.length
        seen = past.append(*self.keys_values(memory, position))
        return self.look(queries, *seen, allowed, position)

    def keys_values(
        self, memory: States, position: int = 0
    ) -> tuple[Float[Tensor, "batch heads length _"], Float[Tensor, "batch heads length _"]]:
        """The keys and values; `position` is that of the first state, for rotary encoding."""
        key = split_heads(self.key(memory), self.heads)
        if self.rotate is not None:
            key = self.rotate(key, position)
        return key, split_heads(self.value(memory), self.heads)

    def look(
        self,
        queries: Float[Tensor, "batch query dim"],
        key: Float[Tensor, "batch heads key head_dim"],
        value: Float[Tensor, "batch heads key value_dim"],
        allowed: Bool[Tensor, "#batch 1 #query key"] | None = None,
        position: int = 0,
    ) -> Float[Tensor, "batch query dim"]:
        """The output for each query; `position` is that of the first query."""
        query = split_heads(self.query(queries), self.heads)
        if self.rotate is not None:
            query = self.rotate(query, position)
        bias = self.bias(query, key, position) if self.bias is not None else None
        drop = self.noise.mask(self.dropout) if self.training and self.dropout else None
        if self.observers or self.edit is not None:
            found, weights = attend_with_weights(query, key, value, allowed, bias, drop)
            if self.edit is not None:
                weights = self.edited(weights, position)
                found = weights @ value
            scale = query.shape[-1] ** -0.5
            for observer in self.observers:
                observer(
                    Attention(query, key, value, weights, scale=scale, bias=bias, allowed=allowed)
                )
        else:
            found = attend(query, key, value, allowed, bias, drop)
        return self.output(merge_heads(self.gated(found)))
