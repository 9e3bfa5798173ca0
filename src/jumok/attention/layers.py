"""Attention layers as the lectures build them up, each made of the one before.

    RawAttention       x itself is query, key and value     softmax(x x^T) x
    GeneralAttention   W_K and W_V; queries from elsewhere   softmax(q (x W_K)^T) x W_V
    SelfAttention      W_Q too: queries from x itself
    ManyHeads          several SelfAttentions side by side, mixed by W_O

They are for reading, for experiments, and to test `MultiHeadAttention` against, which computes
the same sums faster. The matrices have no biases, as in the lectures' formulas.

Source: lectures 000, 003 and 004 (general and self-attention layers), 002 (heads).
"""

import torch
from torch import nn

from jumok.attention.core import softmax_of_allowed
from jumok.attention.interfaces import ScoreFunction
from jumok.attention.observe import Attention, Observable
from jumok.attention.scores import ScaledDotScore
from jumok.shapes import Bool, Float, Tensor


class RawAttention(Observable):
    """The inputs themselves are keys and values, and in self-attention the queries too.

    y_i = sum_j softmax_j(score(q_i, x_j)) x_j

    Args:
        score: compares a query and a key. A DotScore as in the first form of lecture 000; a
            ScaledDotScore as in lecture 004, which writes "multiply by sqrt(D)" where the paper
            (Vaswani et al. 2017) divides.
    """

    def __init__(self, score: ScoreFunction) -> None:
        super().__init__()
        self.score = score

    def forward(
        self,
        queries: Float[Tensor, "batch query dim"],
        inputs: Float[Tensor, "batch key dim"],
        allowed: Bool[Tensor, "#batch #query key"] | None = None,
    ) -> Float[Tensor, "batch query dim"]:
        """The context vectors. `allowed` is True where a query may attend; None allows all."""
        return self.attend(queries, inputs, inputs, allowed)

    def attend(
        self,
        query: Float[Tensor, "batch query dim"],
        key: Float[Tensor, "batch key dim"],
        value: Float[Tensor, "batch key value_dim"],
        allowed: Bool[Tensor, "#batch #query key"] | None = None,
    ) -> Float[Tensor, "batch query value_dim"]:
        """The formula itself: softmax(score(query, key)) value."""
        compared, with_these = self.score.queries(query), self.score.keys(key)
        weights = softmax_of_allowed(self.score(compared, with_these), allowed)
        weights = self.edited(weights[:, None])[:, 0]  # one head
        for observer in self.observers:
            observer(
                Attention(
                    compared[:, None],  # one head
                    with_these[:, None],
                    value[:, None],
                    weights[:, None],
                    kind=self.score.kind,
                    scale=self.score.scale,
                    energy=self.score.energy,
                    allowed=None if allowed is None else allowed[:, None],
                )
            )
        return self.gated((weights @ value)[:, None])[:, 0]  # one head


class GeneralAttention(nn.Module):
    """Keys and values are projections of the inputs; the queries come from elsewhere.

    k_j = x_j W_K,  v_j = x_j W_V,  y_i = sum_j softmax_j(score(q_i, k_j)) v_j

    Args:
        key_dim: width of the keys, and so of the queries: their dot product is taken.
        value_dim: width of the values, and so of the output.
        score: compares a query and a key; None: scaled dot products.
    """

    def __init__(
        self, dim: int, key_dim: int, value_dim: int, score: ScoreFunction | None = None
    ) -> None:
        super().__init__()
        self.key = nn.Linear(dim, key_dim, bias=False)
        self.value = nn.Linear(dim, value_dim, bias=False)
        self.attention = RawAttention(score or ScaledDotScore(key_dim))

    def forward(
        self,
        queries: Float[Tensor, "batch query key_dim"],
        inputs: Float[Tensor, "batch key dim"],
        allowed: Bool[Tensor, "#batch #query key"] | None = None,
    ) -> Float[Tensor, "batch query value_dim"]:
        return self.attention.attend(queries, self.key(inputs), self.value(inputs), allowed)


class SelfAttention(nn.Module):
    """The queries too are projections of the inputs: every input attends to all of them.

    q_i = x_i W_Q,  y = general(q, x)
    """

    def __init__(
        self, dim: int, key_dim: int, value_dim: int, score: ScoreFunction | None = None
    ) -> None:
        super().__init__()
        self.query = nn.Linear(dim, key_dim, bias=False)
        self.general = GeneralAttention(dim, key_dim, value_dim, score)

    def forward(
        self,
        inputs: Float[Tensor, "batch length dim"],
        allowed: Bool[Tensor, "#batch #length length"] | None = None,
    ) -> Float[Tensor, "batch length value_dim"]:
        return self.general(self.query(inputs), inputs, allowed)


class ManyHeads(nn.Module):
    """Several SelfAttentions side by side, mixed by one matrix.

    y = [head_1(x) ... head_h(x)] W_O

    `with_fixed_budget` divides one width among the heads; `with_full_size_heads` gives each head
    the whole width. Lecture 002 names both.
    """

    def __init__(self, dim: int, heads: int, key_dim: int, value_dim: int) -> None:
        super().__init__()
        self.heads = nn.ModuleList(SelfAttention(dim, key_dim, value_dim) for _ in range(heads))
        self.output = nn.Linear(heads * value_dim, dim, bias=False)

    @classmethod
    def with_fixed_budget(cls, dim: int, heads: int) -> "ManyHeads":
        """As many parameters as one head of the whole width: 4 dim^2, for any number of heads."""
        return cls(dim, heads, dim // heads, dim // heads)

    @classmethod
    def with_full_size_heads(cls, dim: int, heads: int) -> "ManyHeads":
        """Every head as wide as the model: heads times as many parameters."""
        return cls(dim, heads, dim, dim)

    def forward(
        self,
        inputs: Float[Tensor, "batch length dim"],
        allowed: Bool[Tensor, "#batch #length length"] | None = None,
    ) -> Float[Tensor, "batch length dim"]:
        """The outputs of all heads, as one vector of the model's width for each input."""
        return self.output(torch.cat([head(inputs, allowed) for head in self.heads], dim=-1))
