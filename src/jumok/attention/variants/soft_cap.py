"""A soft cap of the scores: no score is larger than the cap, and none is smaller than its negative.

    score'(q, k) = cap tanh(score(q, k) / cap)

Small scores stay as they are, and large ones approach the cap, so no weight can come close to 1
merely because queries and keys have grown. Masks and biases are applied after it.

Source: Bello et al. 2017 (Neural combinatorial optimization), appendix A.1; Gemma Team 2024
(Gemma 2), section 2.
"""

from torch import nn

from jumok.attention.interfaces import ScoreFunction
from jumok.kernels.activation import soft_cap
from jumok.shapes import Float, Tensor


class SoftCapScore(nn.Module):
    """Another score, capped. It is no product of vectors any more: `attend` calls it.

    Args:
        cap: above 0.
    """

    scale = None
    energy = None

    def __init__(self, score: ScoreFunction, cap: float) -> None:
        super().__init__()
        self.score = score
        self.cap = cap

    @property
    def kind(self) -> str:
        return f"{self.score.kind}, soft-capped"

    def queries(self, states: Float[Tensor, "*axes query dim"]) -> Float[Tensor, "*axes query _"]:
        return self.score.queries(states)

    def keys(self, memory: Float[Tensor, "*axes key dim"]) -> Float[Tensor, "*axes key _"]:
        return self.score.keys(memory)

    def forward(
        self, query: Float[Tensor, "*axes query dim"], key: Float[Tensor, "*axes key dim"]
    ) -> Float[Tensor, "*axes query key"]:
        return soft_cap(self.score(query, key), self.cap)
