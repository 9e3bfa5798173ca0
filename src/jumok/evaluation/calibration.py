"""Calibrating a model's confidence on held-out data, and measuring how far off it is."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from sacrebleu.metrics.chrf import CHRF

from jumok.bundle.confidence import Calibration, ReliabilityBin, logit

FEWEST = 50
"""Outputs below which nothing is fitted."""

BINS = 10

RIGHT_CHRF = 70.0
"""The chrF of a translation against its reference from which it counts as right."""

NEWTON_STEPS = 50
"""Steps of Newton's method; it needs fewer than ten."""


def right_translations(
    texts: Sequence[str], references: Sequence[str], exact: bool
) -> tuple[list[bool], str]:
    """Which outputs count as right, and what that means in words.

    Args:
        exact: every character has to be right; otherwise the chrF has to be RIGHT_CHRF or more.
    """
    if exact:
        same = [one.strip() == other.strip() for one, other in zip(texts, references, strict=True)]
        return same, "that it equals the reference in every character"
    metric = CHRF()
    close = [
        metric.sentence_score(one, [other]).score >= RIGHT_CHRF
        for one, other in zip(texts, references, strict=True)
    ]
    return close, f"a chrF2 of {RIGHT_CHRF:g} or more against the reference"


def calibrated(
    own: Sequence[float], right: Sequence[bool], meaning: str, on: str
) -> Calibration | None:
    """The calibration of a model by its confidence in held-out outputs and whether they are right.

    The mapping is fitted to all of them. Its error and its bins come from two mappings, each fitted
    to one half of the outputs and applied to the other.

    Args:
        own: the model's confidence in each output, 0 to 1.
        meaning: what "right" means, in words.
        on: the data, in words.

    Returns:
        None for fewer than FEWEST outputs.
    """
    if len(own) < FEWEST:
        return None
    confidence, truth = np.asarray(own, float), np.asarray(right, bool)
    halves = np.arange(len(own)) % 2 == 0
    held_out = np.empty(len(own))
    for half in (halves, ~halves):
        fitted = Calibration(*fit(confidence[~half], truth[~half]))
        held_out[half] = [
            fitted.of(confidence_of_output) for confidence_of_output in confidence[half]
        ]
    bins = reliability_bins(held_out, truth)
    return Calibration(
        *fit(confidence, truth),
        right=meaning,
        on=on,
        outputs=len(own),
        error_before=round(calibration_error(reliability_bins(confidence, truth)), 6),
        error=round(calibration_error(bins), 6),
        bins=tuple(
            replace(
                confidence_of_output,
                confidence=round(confidence_of_output.confidence, 6),
                right=round(confidence_of_output.right, 6),
            )
            for confidence_of_output in bins
        ),
    )


def fit(
    own: "np.ndarray[tuple[int], np.dtype[np.float64]]",
    right: "np.ndarray[tuple[int], np.dtype[np.bool_]]",
) -> tuple[float, float]:
    """The factor and the constant of the logistic regression of `right` on the log-odds of `own`.

    The targets are Platt's (n+1)/(n+2) and 1/(n+2), so that few outputs give no certainty. A scale
    below 0 would turn the order of outputs around: it becomes 0, and every output gets the share of
    right ones.
    """
    positives, total = int(right.sum()), len(right)
    high, low = (positives + 1) / (positives + 2), 1 / (total - positives + 2)
    targets = np.where(right, high, low)
    share = float(targets.mean())
    constant = 0.0, math.log(share / (1.0 - share))
    odds = np.array([logit(confidence) for confidence in own.tolist()])
    if float(np.ptp(odds)) < 1e-9:
        return constant
    middle, width = float(odds.mean()), float(odds.std())
    inputs = np.stack([(odds - middle) / width, np.ones(total)], 1)
    weights = np.array([0.0, constant[1]])
    for _ in range(NEWTON_STEPS):
        predicted = 1.0 / (1.0 + np.exp(-np.clip(inputs @ weights, -30.0, 30.0)))
        gradient = inputs.T @ (targets - predicted)
        curvature = (inputs * (predicted * (1.0 - predicted))[:, None]).T @ inputs
        step = np.linalg.solve(curvature + 1e-6 * np.eye(2), gradient)
        weights += np.clip(step, -2.0, 2.0)
        if float(np.abs(step).max()) < 1e-9:
            break
    scale = float(weights[0]) / width
    return (scale, float(weights[1]) - scale * middle) if scale > 0.0 else constant


def reliability_bins(
    confidence: "np.ndarray[tuple[int], np.dtype[np.float64]]",
    right: "np.ndarray[tuple[int], np.dtype[np.bool_]]",
) -> list[ReliabilityBin]:
    """The outputs in BINS bins of equal width of their confidence; empty bins are left out."""
    places = np.clip((confidence * BINS).astype(int), 0, BINS - 1)
    bins = []
    for number in range(BINS):
        inside = places == number
        if inside.any():
            bins.append(
                ReliabilityBin(
                    int(inside.sum()), float(confidence[inside].mean()), float(right[inside].mean())
                )
            )
    return bins


def calibration_error(bins: Sequence[ReliabilityBin]) -> float:
    """The expected calibration error: the mean of |confidence - share of right| over outputs."""
    total = sum(one.outputs for one in bins)
    return sum(one.outputs * abs(one.confidence - one.right) for one in bins) / total
