"""Queries and keys of one length each, times a learned gain: the scores cannot grow without bound.

    q' = gain_q q / rms(q),  k' = gain_k k / rms(k),  rms(x) = sqrt(mean(x^2) + epsilon)

Queries and keys have an instance each; its gains are shared by the heads.

Source: Dehghani et al. 2023 (ViT-22B), section 2; with RMS norms per head: Qwen3 (2025).
"""

from torch import nn

from jumok.kernels import heads
from jumok.shapes import Float, Tensor


class QueryKeyNorm(nn.RMSNorm):
    """The RMS norm of each head's vector; positions do not matter."""

    def __init__(self, head_dim: int, epsilon: float) -> None:
        super().__init__(head_dim, epsilon)

    def forward(
        self,
        states: Float[Tensor, "batch heads length dim"],
        position: int = 0,  # noqa: ARG002 - other processes of heads need it
    ) -> Float[Tensor, "batch heads length dim"]:
        if heads.serves(states, self.weight) and self.eps is not None:
            return heads.rms_norm(states, self.weight, self.eps)
        return super().forward(states)
