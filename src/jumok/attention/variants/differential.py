"""Differential attention: the difference of two maps cancels what both of them attend to.

    head_i = (1 - l0) norm((A_i - l A_(i + h/2)) [V_i V_(i + h/2)])
    A_j = softmax(Q_j K_j^T / sqrt(d))
    l = exp(q1 . k1) - exp(q2 . k2) + l0,  l0 = 0.8 - 0.6 exp(-0.3 layer)

The heads are compared as usual, and each map is one that can be observed, edited and gated; the
second half of them is subtracted from the first, l times. A pair shares the values of both, so
there are half as many outputs, of twice the width.

Source: Ye et al. 2025, "Differential Transformer", section 2.1; with heads in halves, as in
Hugging Face's DiffLlama.
"""

import math

import torch
from torch import nn

from jumok.attention.core import merge_heads
from jumok.attention.interfaces import HeadParts
from jumok.attention.multihead import MultiHeadAttention
from jumok.attention.role import Role
from jumok.kernels.noise import Noise
from jumok.shapes import Float, States, Tensor
from jumok.specs import AttentionSizes


class DifferentialAttention(MultiHeadAttention):
    """Pairs of heads, of which one is subtracted from the other.

    Attributes:
        start: l0 of its layer.

    Args:
        sizes: its heads, and those of the keys, are even in number.
    """

    has_output_process = True

    def __init__(
        self, sizes: AttentionSizes, parts: HeadParts, noise: Noise, dropout: float, role: Role
    ) -> None:
        super().__init__(
            sizes.dim, sizes.heads, sizes.head_dim, sizes.value_dim, noise, dropout,
            sizes.kv_heads, (sizes.bias, sizes.output_bias), parts, role,
        )  # fmt: skip
        self.outputs = sizes.heads // 2
        self.start = 0.8 - 0.6 * math.exp(-0.3 * role.layer)
        # q1, k1, q2, k2 behind one another: they are no matrix, and are not decayed as one
        self.vectors = nn.Parameter(torch.randn(4 * sizes.head_dim) * 0.1)
        self.norm = nn.RMSNorm(2 * sizes.value_dim, sizes.epsilon, elementwise_affine=False)

    @classmethod
    def of(
        cls, sizes: AttentionSizes, parts: HeadParts, noise: Noise, dropout: float, role: Role
    ) -> "DifferentialAttention":
        return cls(sizes, parts, noise, dropout, role)

    @property
    def subtracted(self) -> Float[Tensor, ""]:
        """l: how many times the second map of a pair is subtracted."""
        query, key = self.vectors.float().view(2, 2, -1).unbind(dim=1)
        one, other = (query * key).sum(dim=1).exp()
        return one - other + self.start

    @property
    def factors(self) -> Float[Tensor, " heads"]:
        """The factor of each head's map in the output of its pair: 1, or -l."""
        ones = torch.ones(self.outputs, device=self.vectors.device)
        return torch.cat((ones, -self.subtracted * ones))

    def expand_values(
        self, value: Float[Tensor, "batch kv_heads key value_dim"]
    ) -> Float[Tensor, "batch kv_heads key 2*value_dim"]:
        """The values that each head's map is applied to: those of both heads of its pair."""
        return torch.cat(value.chunk(2, dim=1), dim=-1).repeat(1, 2, 1, 1)

    def project_output(
        self,
        outputs: Float[Tensor, "batch heads query _"],
        queries: States,  # noqa: ARG002
    ) -> Float[Tensor, "batch query dim"]:
        """The differences, each normalised, through the output projection."""
        one, other = self.gated(outputs).chunk(2, dim=1)
        difference = one - self.subtracted.to(outputs.dtype) * other
        return self.output(merge_heads((1.0 - self.start) * self.norm(difference)))
