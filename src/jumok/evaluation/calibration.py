"""Calibrating a model's confidence on held-out data, and measuring how far off it is."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import mul

import numpy as np
from sacrebleu.metrics.chrf import CHRF

from jumok.bundle.confidence import Calibration, ReliabilityBin, logit

FEWEST = 50
"""Outputs below which nothing is fitted."""

BINS = 10

RIGHT_CHRF = 70.0
"""The chrF of a translation against its reference from which it counts as right."""

RIDGE = 0.5
"""The penalty on squared weights of standardised evidence: a few hundred outputs decide."""

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


@dataclass(frozen=True)
class JudgedOutput:
    """An output of a model, and whether it is right.

    Attributes:
        own: the model's confidence in it, 0 to 1.
        evidence: further values, by their names; the same names for all outputs.
        usual: its input is like those that the model is for; odd inputs are only fitted to.
    """

    own: float
    right: bool
    evidence: Mapping[str, float] = field(default_factory=dict)
    usual: bool = True


def calibrated(outputs: Sequence[JudgedOutput], meaning: str, on: str) -> Calibration | None:
    """The calibration of a model by its held-out outputs.

    The mapping is fitted to all of them. Its error and its bins come from two mappings, each fitted
    to one half of the outputs and applied to the other; they are those of usual inputs, and the
    area under the curve (AUROC) is that of all.

    Args:
        meaning: what "right" means, in words.
        on: the data, in words.

    Returns:
        None for fewer than FEWEST outputs of usual inputs.
    """
    usual = np.array([each.usual for each in outputs], bool)
    if usual.sum() < FEWEST:
        return None
    truth = np.array([each.right for each in outputs], bool)
    halves = np.arange(len(outputs)) % 2 == 0
    held_out = np.empty(len(outputs))
    for half in (halves, ~halves):
        fitted = fit([outputs[row] for row in np.flatnonzero(~half).tolist()])
        for row in np.flatnonzero(half).tolist():
            held_out[row] = fitted.of(outputs[row].own, outputs[row].evidence)
    own = np.array([each.own for each in outputs])
    bins = reliability_bins(held_out[usual], truth[usual])
    before = reliability_bins(own[usual], truth[usual])
    return replace(
        fit(outputs),
        right=meaning,
        on=on,
        outputs=int(usual.sum()),
        error_before=round(calibration_error(before), 6),
        error=round(calibration_error(bins), 6),
        bins=tuple(
            replace(each, confidence=round(each.confidence, 6), right=round(each.right, 6))
            for each in bins
        ),
        auroc_before=area_under_curve(own, truth),
        auroc=area_under_curve(held_out, truth),
    )


SIGNS = {"own": 1, "mean": 1, "unknown": -1, "length": -1}
"""Whether more of it may only raise the probability that an output is right, or only lower it."""


def fit(outputs: Sequence[JudgedOutput]) -> Calibration:
    """The logistic regression of `right` on the log-odds of `own` and the further evidence.

    The targets are Platt's (n+1)/(n+2) and 1/(n+2), so that few outputs give no certainty. What
    does not say anything, or would count against what it stands for, gets no weight; without any,
    every output gets the share of right ones.
    """
    right = np.array([each.right for each in outputs], bool)
    positives, total = int(right.sum()), len(right)
    high, low = (positives + 1) / (positives + 2), 1 / (total - positives + 2)
    targets = np.where(right, high, low)
    columns = {"own": np.array([logit(each.own) for each in outputs])}
    columns |= {
        name: np.array([each.evidence[name] for each in outputs]) for name in outputs[0].evidence
    }
    names = [name for name, values in columns.items() if float(np.ptp(values)) > 1e-9]
    names = names if 0 < positives < total else []
    while True:
        weights, shift = _regression([columns[name] for name in names], targets)
        known = dict(zip(names, weights, strict=True))
        if all(weight * SIGNS[name] > 0 for name, weight in known.items()):
            break
        names = [name for name in names if known[name] * SIGNS[name] > 0]
    scale = known.pop("own", 0.0)
    return Calibration(scale, shift, weights=known)


def _regression(
    columns: "Sequence[np.ndarray[tuple[int], np.dtype[np.float64]]]",
    targets: "np.ndarray[tuple[int], np.dtype[np.float64]]",
) -> tuple[list[float], float]:
    """The weights and the constant, by Newton's method."""
    share = float(targets.mean())
    middles = [float(values.mean()) for values in columns]
    widths = [float(values.std()) for values in columns]
    scaled = [
        (values - middle) / width
        for values, middle, width in zip(columns, middles, widths, strict=True)
    ]
    inputs = np.stack([*scaled, np.ones(len(targets))], 1)
    weights = np.array([0.0] * len(columns) + [math.log(share / (1.0 - share))])
    penalty = np.array([RIDGE] * len(columns) + [0.0])
    for _ in range(NEWTON_STEPS):
        predicted = 1.0 / (1.0 + np.exp(-np.clip(inputs @ weights, -30.0, 30.0)))
        gradient = inputs.T @ (targets - predicted) - penalty * weights
        curvature = (inputs * (predicted * (1.0 - predicted))[:, None]).T @ inputs
        step = np.linalg.solve(curvature + np.diag(penalty + 1e-6), gradient)
        weights += np.clip(step, -2.0, 2.0)
        if float(np.abs(step).max()) < 1e-9:
            break
    scales = [float(weight) / width for weight, width in zip(weights[:-1], widths, strict=True)]
    shift = float(weights[-1]) - sum(map(mul, scales, middles))
    return scales, shift


def area_under_curve(
    scores: "np.ndarray[tuple[int], np.dtype[np.float64]]",
    right: "np.ndarray[tuple[int], np.dtype[np.bool_]]",
) -> float:
    """The probability that a right output has a higher score than a wrong one (AUROC); a tie is
    half. 0.5 where all are right, or all are wrong.
    """
    positives = int(right.sum())
    pairs = positives * (len(right) - positives)
    if not pairs:
        return 0.5
    _, places, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[places]
    above = float(ranks[right].sum()) - positives * (positives + 1) / 2
    return round(above / pairs, 6)


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
