"""What a classifier says of one thing, be it a picture or a text."""

from collections.abc import Sequence
from dataclasses import dataclass

from jumok.shapes import Float, Tensor


@dataclass(frozen=True)
class Classification:
    """What a thing was taken for.

    Attributes:
        label: the likeliest.
        probabilities: of every label, the likeliest first; they sum to 1.
    """

    label: str
    probabilities: dict[str, float]

    @property
    def probability(self) -> float:
        """Of the label."""
        return self.probabilities[self.label]


def ranked(row: Float[Tensor, " labels"], labels: Sequence[str]) -> Classification:
    """The labels by their probabilities; of equal ones the first in order is the likelier."""
    order = row.argsort(descending=True, stable=True).tolist()
    return Classification(labels[order[0]], {labels[index]: float(row[index]) for index in order})
