"""How often a model's outputs of a given confidence are right.

Source: Platt 1999, "Probabilistic outputs for support vector machines"; Guo et al. 2017, "On
calibration of modern neural networks" (the expected calibration error).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import ClassVar

CLOSEST = 1e-6
"""Confidences are taken to be at least this far from 0 and 1."""

ALL_KNOWN = {"extra": "forbid"}
"""How pydantic validates what is read from a file: unknown keys are errors."""


@dataclass(frozen=True)
class ReliabilityBin:
    """Held-out outputs of similar confidence.

    Attributes:
        confidence: the mean of their calibrated confidence.
        right: the share of them that is right.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = ALL_KNOWN

    outputs: int
    confidence: float
    right: float


@dataclass(frozen=True)
class Calibration:
    """The mapping from a model's own confidence to the probability that an output is right.

        calibrated = sigmoid(scale * logit(own) + shift + sum(weight * evidence))

    Attributes:
        scale, shift: the scale is 0 where the model's confidence does not tell right
            outputs from wrong ones.
        weights: of further evidence, by its name.
        right: what counts as a right output, in words.
        on, outputs: the held-out data, in words, and its size.
        error_before: the expected calibration error of the model's own confidence: the mean
            distance of a bin's confidence from its share of right outputs, 0 to 1.
        error: that of the calibrated one, measured on outputs that the mapping was not fitted to.
        bins: the reliability diagram, of the same outputs as `error`.
        auroc_before, auroc: the probability that a right output has a higher confidence than a
            wrong one, of the model's own and of the calibrated one; of these outputs, and of those
            of texts with typing errors, of other languages, and with markup.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = ALL_KNOWN

    scale: float
    shift: float
    right: str = ""
    on: str = ""
    outputs: int = 0
    error_before: float = 0.0
    error: float = 0.0
    bins: tuple[ReliabilityBin, ...] = ()
    weights: Mapping[str, float] = field(default_factory=dict)
    auroc_before: float = 0.5
    auroc: float = 0.5

    def of(self, own: float, evidence: Mapping[str, float] = MappingProxyType({})) -> float:
        """The probability that an output of this confidence is right, 0 to 1."""
        further = sum(weight * evidence[name] for name, weight in self.weights.items())
        value = self.scale * logit(own) + self.shift + further
        return 1.0 / (1.0 + math.exp(-max(min(value, 500.0), -500.0)))

    @property
    def text(self) -> str:
        return (
            f"calibrated on {self.on}: the probability that an output is right, which means "
            f"{self.right}; expected calibration error {self.error:.3f}, {self.error_before:.3f} "
            f"without calibration; AUROC {self.auroc:.3f}, {self.auroc_before:.3f} without"
        )


def logit(probability: float) -> float:
    """The logarithm of the odds."""
    kept = min(max(probability, CLOSEST), 1.0 - CLOSEST)
    return math.log(kept / (1.0 - kept))
