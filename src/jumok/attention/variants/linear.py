"""Linear attention: products of positive features, without a softmax, and a state of fixed size.

    output_i = sum_j (f(q_i) . f(k_j)) v_j / sum_j f(q_i) . f(k_j),  f(x) = elu(x) + 1

The products may be taken in the other order: f(q_i) S_i / (f(q_i) . z_i), where S_i is the sum of
f(k_j) v_j^T and z_i that of f(k_j), over j <= i. So a step of decoding adds one position to S and
z and keeps nothing else. Unlike a softmax it cannot point at one of many positions.

For all positions at once the products are computed as weights, under any mask; each row of them is
divided by its sum. These are the weights that observers receive.

Source: Katharopoulos et al. 2020, "Transformers are RNNs", sections 3.2 to 3.4.
"""

import torch
import torch.nn.functional as F

from jumok.attention.cache import KeyValueCache, LinearState
from jumok.attention.core import repeat_heads, split_heads
from jumok.attention.masks import AttentionMask
from jumok.attention.multihead import KeysValues, MultiHeadAttention
from jumok.attention.observe import Attention
from jumok.attention.variants.value_residual import FirstValues
from jumok.errors import ModelError
from jumok.shapes import Float, States, Tensor


class LinearAttention(MultiHeadAttention):
    """Attention with features in the place of the softmax."""

    def new_past(self) -> LinearState:
        return LinearState()

    def forward(
        self,
        queries: Float[Tensor, "batch query dim"],
        memory: Float[Tensor, "batch key dim"] | KeysValues,
        allowed: AttentionMask | None = None,
        position: int = 0,
        past: KeyValueCache | LinearState | None = None,
        first: FirstValues | None = None,
    ) -> Float[Tensor, "batch query dim"]:
        """As in `MultiHeadAttention`; `past` is a `LinearState`.

        Raises:
            ModelError: an observer or an edit came after the first position: the state has no
                keys that their weights could be computed from.
        """
        if not isinstance(past, LinearState):
            return super().forward(queries, memory, allowed, position, past, first)
        assert not isinstance(memory, tuple)
        key, value = self.keys_values(memory, past.length, first)
        query = self.features_of(split_heads(self.query(queries), self.heads), past.length)
        outputs = self._stepped(query, key, value, past)
        if self.observers or self.edit is not None:
            outputs = self._watched_step(query, key, value, past)
        past.length += queries.shape[1]
        return self.project_output(outputs, queries)

    def features_of(
        self, query: Float[Tensor, "batch heads query dim"], position: int
    ) -> Float[Tensor, "batch heads query dim"]:
        """f(q) of the processed queries."""
        for process in self.process_queries:
            query = process(query, position)
        return F.elu(query) + 1.0

    def keys_values(
        self, memory: States, position: int = 0, first: FirstValues | None = None
    ) -> tuple[Float[Tensor, "batch kv_heads length _"], Float[Tensor, "batch kv_heads length _"]]:
        key, value = super().keys_values(memory, position, first)
        return F.elu(key) + 1.0, value

    def attend(
        self,
        queries: Float[Tensor, "batch query dim"],
        key: Float[Tensor, "batch kv_heads key head_dim"],
        value: Float[Tensor, "batch kv_heads key value_dim"],
        allowed: AttentionMask | None = None,
        position: int = 0,
    ) -> Float[Tensor, "batch query dim"]:
        """The output for each query, by the weights of all pairs."""
        query = self.features_of(split_heads(self.query(queries), self.heads), position)
        return self.project_output(self.weighted(query, key, value, allowed, position), queries)

    def weighted(
        self,
        query: Float[Tensor, "batch heads query dim"],
        key: Float[Tensor, "batch kv_heads key dim"],
        value: Float[Tensor, "batch kv_heads key value_dim"],
        allowed: AttentionMask | None,
        position: int,
    ) -> Float[Tensor, "batch heads query value_dim"]:
        """The readable form; calls the observers."""
        key, value = repeat_heads(key, self.heads), repeat_heads(value, self.heads)
        products = (query @ key.transpose(-2, -1)).float()
        drawn = None
        if allowed is not None:
            drawn = allowed.draw(query.shape[2], key.shape[2], key.device)
            products = products.masked_fill(~drawn, 0.0)
        sums = products.sum(dim=-1, keepdim=True)
        # a query that may attend to nothing gets zeros; other sums are above 0
        weights = (products / sums.masked_fill(sums == 0.0, 1.0)).to(value.dtype)
        weights = self.edited(weights, position)
        for observer in self.observers:
            observer(
                Attention(query, key, value, weights, kind="linear", scale=None, allowed=drawn)
            )
        if self.training and self.dropout:
            weights = self.noise.mask(self.dropout).apply(weights)
        return weights @ value

    def _stepped(
        self,
        query: Float[Tensor, "batch heads new dim"],
        key: Float[Tensor, "batch kv_heads new dim"],
        value: Float[Tensor, "batch kv_heads new value_dim"],
        past: LinearState,
    ) -> Float[Tensor, "batch heads new value_dim"]:
        """The recurrence, position by position, in float32."""
        outputs = []
        if past.products is None or past.features is None:
            past.products = torch.zeros(
                *key.shape[:2], key.shape[3], value.shape[3], device=key.device
            )
            past.features = torch.zeros(*key.shape[:2], key.shape[3], device=key.device)
        for at in range(query.shape[2]):
            added, given = key[:, :, at].float(), value[:, :, at].float()
            past.products = past.products + added[..., None] * given[:, :, None]
            past.features = past.features + added
            asked = query[:, :, at : at + 1].float()
            products = repeat_heads(past.products, self.heads)
            sums = asked @ repeat_heads(past.features[..., None], self.heads)
            outputs.append(asked @ products / sums)
        return torch.cat(outputs, dim=2).to(value.dtype)

    def _watched_step(
        self,
        query: Float[Tensor, "batch heads new dim"],
        key: Float[Tensor, "batch kv_heads new dim"],
        value: Float[Tensor, "batch kv_heads new value_dim"],
        past: LinearState,
    ) -> Float[Tensor, "batch heads new value_dim"]:
        """The same by weights, from keys that are kept as long as all positions are observed."""
        if past.length == 0:
            past.kept = KeyValueCache()
        if past.kept is None or past.kept.length != past.length:
            raise ModelError(
                "linear attention keeps no keys, so weights of past positions cannot be computed.",
                expected="an observer from the first position on",
                got=f"one from position {past.length + 1} on",
                do="begin to observe or record before the text is begun",
            )
        keys, values = past.kept.append(key, value)
        return self.weighted(query, keys, values, AttentionMask(causal=True), past.length)
