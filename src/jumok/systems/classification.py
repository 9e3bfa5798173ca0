"""Predictions of image and text classifiers."""

from collections.abc import Sequence
from dataclasses import dataclass

from jumok.shapes import Float, Tensor
from jumok.systems.base import Facts


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

    def facts(self, top: int | None = None) -> Facts:
        """All of it as plain JSON; `top` limits it to the most probable labels."""
        best = dict(list(self.probabilities.items())[:top])
        return {"label": self.label, "probabilities": best}


def ranked(row: Float[Tensor, " labels"], labels: Sequence[str]) -> Classification:
    """The labels in descending order of probability; equal ones stay in the labels' order."""
    order = row.argsort(descending=True, stable=True).tolist()
    return Classification(labels[order[0]], {labels[index]: float(row[index]) for index in order})
