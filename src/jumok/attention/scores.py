"""Score functions: how well a query and a key fit together. Each is a module of its own.

| kind       | score(q, k)               | source                                 |
|------------|---------------------------|----------------------------------------|
| dot        | q . k                     | Luong et al. 2015, section 3.1         |
| scaled-dot | q . k / sqrt(dim)         | Vaswani et al. 2017, section 3.2.1     |
| bilinear   | q W k                     | Luong et al. 2015 ("general")          |
| additive   | v . tanh(W q + U k)       | Bahdanau et al. 2015, appendix A.1.2   |

A score projects queries and keys itself, so that keys are projected once for all steps.
"""

import math

import torch
from torch import nn

from jumok.kernels.linear import Linear
from jumok.kernels.recurrent import additive_scores
from jumok.shapes import Float, States, Tensor


class DotScore(nn.Module):
    """q . k, without projections; queries and keys have one width.

    Attributes:
        kind: the score's name, which observers of the attention receive.
    """

    kind = "dot"

    def queries(self, states: States) -> Float[Tensor, "batch length _"]:
        """The projected queries."""
        return states

    def keys(self, memory: States) -> Float[Tensor, "batch length _"]:
        """The projected keys; computed once for all steps."""
        return memory

    def weighing(self) -> Float[Tensor, " hidden"] | None:
        """The vector v of an additive score; None for other scores."""
        return None

    def forward(
        self,
        query: Float[Tensor, "batch query dim"],
        key: Float[Tensor, "batch key dim"],
    ) -> Float[Tensor, "batch query key"]:
        """How well each query and each key fit."""
        return query @ key.transpose(1, 2)

    def cover(
        self,
        key: Float[Tensor, "batch key dim"],
        covered: Float[Tensor, "batch key"],  # noqa: ARG002
    ) -> Float[Tensor, "batch key dim"]:
        """The keys, given each one's sum of weights `covered`; most scores ignore it."""
        return key


class ScaledDotScore(DotScore):
    """q . k / sqrt(dim): its spread does not grow with the width."""

    kind = "scaled-dot"

    def queries(self, states: States) -> Float[Tensor, "batch length _"]:
        return states / math.sqrt(states.shape[-1])


class BilinearScore(DotScore):
    """q W k: queries and keys may differ in width."""

    kind = "bilinear"

    def __init__(self, dim: int, memory_dim: int) -> None:
        super().__init__()
        self.key = Linear(memory_dim, dim)

    def keys(self, memory: States) -> Float[Tensor, "batch length _"]:
        # The bias adds q . b to every score of a query, which does not change the softmax.
        return self.key(memory)


class AdditiveScore(DotScore):
    """v . tanh(W q + U k): a small network with one hidden layer."""

    kind = "additive"

    def __init__(self, dim: int, memory_dim: int, hidden: int) -> None:
        super().__init__()
        self.query = Linear(dim, hidden)
        self.key = Linear(memory_dim, hidden)
        self.energy = nn.Parameter(torch.empty(hidden).uniform_(-1, 1) * math.sqrt(3 / hidden))

    def queries(self, states: States) -> Float[Tensor, "batch length _"]:
        return self.query(states)

    def keys(self, memory: States) -> Float[Tensor, "batch length _"]:
        return self.key(memory)

    def weighing(self) -> Float[Tensor, " hidden"]:
        return self.energy

    def forward(
        self,
        query: Float[Tensor, "batch query dim"],
        key: Float[Tensor, "batch key dim"],
    ) -> Float[Tensor, "batch query key"]:
        return additive_scores(query, key, self.energy)


class CoverageScore(AdditiveScore):
    """v . tanh(W q + U k + w c), where c is the sum of the key's weights in earlier steps.

    Source: Tu et al. 2016, Modeling coverage for neural machine translation, section 3.1
    (linguistic coverage without fertility).
    """

    def __init__(self, dim: int, memory_dim: int, hidden: int) -> None:
        super().__init__(dim, memory_dim, hidden)
        self.coverage = nn.Parameter(torch.zeros(hidden))

    def cover(
        self, key: Float[Tensor, "batch key dim"], covered: Float[Tensor, "batch key"]
    ) -> Float[Tensor, "batch key dim"]:
        return key + covered[..., None] * self.coverage
