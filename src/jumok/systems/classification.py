"""What a classifier predicts for one input, an image or a text."""

from collections.abc import Sequence
from dataclasses import dataclass

from jumok.shapes import Float, Tensor


@dataclass(frozen=True)
class Classification:
    """The prediction for one input.

    Attributes:
        label: the most probable one.
        probabilities: of every label, in descending order; they sum to 1.
    """

    label: str
    probabilities: dict[str, float]

    @property
    def probability(self) -> float:
        """The probability of the label."""
        return self.probabilities[self.label]


def ranked(row: Float[Tensor, " labels"], labels: Sequence[str]) -> Classification:
    """The labels in descending order of probability; equal ones stay in the labels' order."""
    order = row.argsort(descending=True, stable=True).tolist()
    return Classification(labels[order[0]], {labels[index]: float(row[index]) for index in order})
