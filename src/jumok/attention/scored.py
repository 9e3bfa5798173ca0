"""One attention with any score function, as RNNs use it.

    attend(q, K, V) = softmax(score(q, K)) V

Source: Bahdanau et al. 2015; Luong et al. 2015; lecture 004.
"""

from jumok.attention.core import softmax_of_allowed
from jumok.attention.interfaces import ScoreFunction
from jumok.attention.observe import Attention, Observable
from jumok.attention.role import Role
from jumok.attention.scores import CoverageScore
from jumok.kernels.noise import Noise
from jumok.shapes import Allowed, Float, States, Tensor


class ScoredAttention(Observable):
    """Queries attend to the Memory, whose states are the values without a projection."""

    def __init__(
        self,
        score: ScoreFunction,
        noise: Noise,
        dropout: float = 0.0,
        role: Role | None = None,
    ) -> None:
        super().__init__()
        self.role = role
        self.score = score
        self.noise = noise
        self.dropout = dropout

    def keys(self, memory: States) -> Float[Tensor, "batch length _"]:
        """The keys; computed once for all steps."""
        return self.score.keys(memory)

    def forward(
        self,
        queries: Float[Tensor, "batch query dim"],
        key: Float[Tensor, "batch source _"],
        value: Float[Tensor, "batch source value_dim"],
        allowed: Allowed | None = None,
        covered: Float[Tensor, "batch source"] | None = None,
        position: int = 0,
    ) -> tuple[Float[Tensor, "batch query value_dim"], Float[Tensor, "batch query source"]]:
        """The context vector of each query, and its weights before dropout; each row sums to 1.

        Args:
            allowed: True where a position may be attended to; None allows all.
            covered: the sum of each position's weights in earlier steps; None if it is not used.
            position: of the first query, for edits of its weights.
        """
        query = self.score.queries(queries)
        if covered is not None:
            assert isinstance(self.score, CoverageScore)
            key = self.score.cover(key, covered)
        mask = None if allowed is None else allowed[:, None]
        scores = self.score(query, key).float()
        weights = softmax_of_allowed(scores, mask)
        weights = self.edited(weights.to(value.dtype)[:, None], position)[:, 0]  # one head
        for observer in self.observers:
            observer(
                Attention(
                    query[:, None],  # one head
                    key[:, None],
                    value[:, None],
                    weights[:, None],
                    kind=self.score.kind,
                    scale=self.score.scale,
                    energy=self.score.energy,
                    allowed=None if mask is None else mask[:, None],
                    scores=scores[:, None] if self.score.scale is None else None,
                )
            )
        drop = self.noise.mask(self.dropout) if self.training and self.dropout else None
        kept = weights if drop is None else drop.apply(weights)
        return self.gated((kept @ value)[:, None])[:, 0], weights
