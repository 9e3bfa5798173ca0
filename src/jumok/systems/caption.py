"""What a captioner gives back for a picture."""

from dataclasses import dataclass
from math import fsum

from jumok.shapes import Float, Tensor

Box = tuple[float, float, float, float]
"""left, top, right, bottom, as shares of the picture's width and height: 0 to 1."""


@dataclass(frozen=True)
class Looks:
    """Where the decoder looked for each word.

    Attributes:
        words: of the caption; what plain spaces separate.
        weights: for each word a share of 0 to 1 for each cell of the grid, rows from the top; the
            shares of a word sum to 1.
    """

    words: tuple[str, ...]
    weights: Float[Tensor, "words rows columns"]

    def box(self, row: int, column: int) -> Box:
        """Where in the picture a cell lies."""
        _, rows, columns = self.weights.shape
        return column / columns, row / rows, (column + 1) / columns, (row + 1) / rows


@dataclass(frozen=True)
class Caption:
    """A picture's caption, and what the model thought of it.

    Attributes:
        text: one line.
        score: what captions are ranked by; higher is better, and only captions of the same
            picture compare.
        tokens: the pieces, without END.
        token_log_probabilities: natural logarithms, one a piece and one for END.
        looks: None where it was not asked for, or where the model has one vector to look at.
        alternatives: the second best, the third best, ..., where more than one was asked for.
    """

    text: str
    score: float = 0.0
    tokens: tuple[str, ...] = ()
    token_log_probabilities: tuple[float, ...] = ()
    looks: Looks | None = None
    alternatives: tuple["Caption", ...] = ()

    @property
    def log_probability(self) -> float:
        """Of the whole caption given the picture, by the model: natural logarithm."""
        return fsum(self.token_log_probabilities)
