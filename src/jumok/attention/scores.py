"""Score functions: how well a query and a key fit together. Each is a part of its own.

| kind       | score(q, k)               | source                                 |
|------------|---------------------------|----------------------------------------|
| dot        | q . k                     | Luong et al. 2015, section 3.1         |
| scaled-dot | q . k / sqrt(dim)         | Vaswani et al. 2017, section 3.2.1     |
| bilinear   | q W k                     | Luong et al. 2015 ("general")          |
| additive   | v . tanh(W q + U k)       | Bahdanau et al. 2015, appendix A.1.2   |

Their interface is `ScoreFunction` in `attention/interfaces.py`. A score transforms queries and keys
itself, so that keys are transformed once for all steps. In a Transformer the heads share its
weights.
"""

import math

import torch
from torch import nn

from jumok.kernels.linear import Linear
from jumok.kernels.recurrent import additive_scores
from jumok.shapes import Float, Tensor

StateVectors = Float[Tensor, "*axes length dim"]
QueryVectors = Float[Tensor, "*axes query dim"]
KeyVectors = Float[Tensor, "*axes key dim"]
PairScores = Float[Tensor, "*axes query key"]


class DotScore:
    """q . k, without weights; queries and keys of any one width."""

    kind = "dot"
    scale = 1.0
    energy = None

    def __init__(self, *_sizes: int) -> None: ...

    def queries(self, states: StateVectors) -> StateVectors:
        return states

    def keys(self, memory: StateVectors) -> StateVectors:
        return memory

    def __call__(self, query: QueryVectors, key: KeyVectors) -> PairScores:
        return query @ key.transpose(-2, -1)


class ScaledDotScore:
    """q . k / sqrt(dim): its spread does not grow with the width."""

    kind = "scaled-dot"
    energy = None

    def __init__(self, dim: int, *_sizes: int) -> None:
        self.scale = dim**-0.5

    def queries(self, states: StateVectors) -> StateVectors:
        return states

    def keys(self, memory: StateVectors) -> StateVectors:
        return memory

    def __call__(self, query: QueryVectors, key: KeyVectors) -> PairScores:
        return query @ key.transpose(-2, -1) * self.scale


class BilinearScore(nn.Module):
    """q W k: queries and keys may differ in width."""

    kind = "bilinear"
    scale = 1.0
    energy = None

    def __init__(self, dim: int, memory_dim: int, *_heads: int) -> None:
        super().__init__()
        self.key = Linear(memory_dim, dim)

    def queries(self, states: StateVectors) -> StateVectors:
        return states

    def keys(self, memory: StateVectors) -> Float[Tensor, "*axes length _"]:
        # The bias adds q . b to every score of a query, which does not change the softmax.
        return self.key(memory)

    def forward(self, query: QueryVectors, key: KeyVectors) -> PairScores:
        return query @ key.transpose(-2, -1)


class _TanhScore(nn.Module):
    """v . tanh(W q + U k): a small network with one hidden layer."""

    scale = 1.0
    energy: nn.Parameter

    def __init__(self, dim: int, memory_dim: int, hidden: int | None) -> None:
        super().__init__()
        hidden = hidden or dim
        self.query = Linear(dim, hidden)
        self.key = Linear(memory_dim, hidden)
        self.energy = nn.Parameter(torch.empty(hidden).uniform_(-1, 1) * math.sqrt(3 / hidden))

    def queries(self, states: StateVectors) -> Float[Tensor, "*axes length _"]:
        return self.query(states)

    def keys(self, memory: StateVectors) -> Float[Tensor, "*axes length _"]:
        return self.key(memory)

    def forward(self, query: QueryVectors, key: KeyVectors) -> PairScores:
        heads = query.flatten(0, -3), key.flatten(0, -3)
        return additive_scores(*heads, self.energy).view(*query.shape[:-1], key.shape[-2])


class AdditiveScore(_TanhScore):
    """v . tanh(W q + U k).

    Args:
        hidden: width of v; None: `dim`.
    """

    kind = "additive"

    def __init__(
        self, dim: int, memory_dim: int, _heads: int = 1, *, hidden: int | None = None
    ) -> None:
        super().__init__(dim, memory_dim, hidden)


class CoverageScore(_TanhScore):
    """v . tanh(W q + U k + w c), where c is the sum of the key's weights in earlier steps.

    Source: Tu et al. 2016, Modeling coverage for neural machine translation, section 3.1
    (linguistic coverage without fertility).
    """

    kind = "additive"

    def __init__(self, dim: int, memory_dim: int, *, hidden: int | None = None) -> None:
        super().__init__(dim, memory_dim, hidden)
        self.coverage = nn.Parameter(torch.zeros_like(self.energy))

    def cover(
        self, key: Float[Tensor, "batch key dim"], covered: Float[Tensor, "batch key"]
    ) -> Float[Tensor, "batch key dim"]:
        """The keys, given each one's sum of weights `covered`."""
        return key + covered[..., None] * self.coverage
