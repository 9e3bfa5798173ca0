"""Captions of images, with their attention maps."""

from dataclasses import dataclass
from math import fsum

from jumok.shapes import Float, Tensor
from jumok.systems.base import Facts

Box = tuple[float, float, float, float]
"""left, top, right, bottom, as fractions of the image's width and height: 0 to 1."""


@dataclass(frozen=True)
class Looks:
    """The attention weights of each word of a caption over the image.

    Attributes:
        words: of the caption, separated by plain spaces.
        weights: for each word a weight of 0 to 1 for each cell of the grid, rows from the top; the
            weights of a word sum to 1.
    """

    words: tuple[str, ...]
    weights: Float[Tensor, "words rows columns"]

    def box(self, row: int, column: int) -> Box:
        _, rows, columns = self.weights.shape
        return column / columns, row / rows, (column + 1) / columns, (row + 1) / rows

    def facts(self) -> Facts:
        """The words, and the map of each word row by row from the top, as plain JSON."""
        rounded = [
            [[round(share, 4) for share in row] for row in of_word]
            for of_word in self.weights.tolist()
        ]
        return {"words": self.words, "weights": rounded}


@dataclass(frozen=True)
class Caption:
    """An image's caption, and its probability by the model.

    Attributes:
        text: one line.
        score: what captions are ranked by; higher is better, and only captions of the same image
            can be compared.
        tokens: without END.
        token_log_probabilities: natural logarithms, one for each token and one for END.
        looks: None where they were not requested, or where the model has one context vector.
        alternatives: the second best, the third best, ..., if more than one was requested.
    """

    text: str
    score: float = 0.0
    tokens: tuple[str, ...] = ()
    token_log_probabilities: tuple[float, ...] = ()
    looks: Looks | None = None
    alternatives: tuple["Caption", ...] = ()

    @property
    def log_probability(self) -> float:
        """The log-probability of the whole caption given the image: natural logarithm."""
        return fsum(self.token_log_probabilities)

    def facts(self) -> Facts:
        """As plain JSON."""
        return {
            "text": self.text,
            "score": self.score,
            "log_probability": self.log_probability,
            "tokens": self.tokens,
            "token_log_probabilities": self.token_log_probabilities,
            "looks": None if self.looks is None else self.looks.facts(),
            "alternatives": [other.facts() for other in self.alternatives],
        }
