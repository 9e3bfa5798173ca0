"""Confidence that is worth what it says: 0.8 is right in 8 of 10."""

import math

import numpy as np
import pytest

from jumok.bundle.card import BundleConfig, Card, card_text
from jumok.bundle.confidence import Calibration, ReliabilityBin, logit
from jumok.evaluation.calibration import (
    RIDGE,
    JudgedOutput,
    area_under_curve,
    calibrated,
    calibration_error,
    fit,
    reliability_bins,
    right_translations,
)


def outputs(count: int, seed: int, scale: float, shift: float):
    """A model whose outputs are right with probability sigmoid(scale * logit(own) + shift)."""
    draw = np.random.default_rng(seed)
    own = draw.uniform(0.3, 0.999, count)
    odds = np.log(own / (1 - own))
    probability = 1 / (1 + np.exp(-(scale * odds + shift)))
    return own, draw.random(count) < probability


def judged(own, right, evidence=None):
    evidence = evidence or [{}] * len(own)
    return [
        JudgedOutput(*each) for each in zip(own.tolist(), right.tolist(), evidence, strict=True)
    ]


def test_a_miscalibrated_model_is_calibrated_on_data_that_the_mapping_has_not_seen():
    own, right = outputs(4_000, 1, scale=0.6, shift=-1.5)
    found = calibrated(judged(own, right), "it equals the reference", "4,000 sentences")
    assert found is not None
    assert (found.scale, found.shift) == (
        pytest.approx(0.6, abs=0.1),
        pytest.approx(-1.5, abs=0.15),
    )
    assert found.error_before > 0.3
    assert found.error < 0.04
    test, truth = outputs(4_000, 2, scale=0.6, shift=-1.5)
    mapped = np.array([found.of(each) for each in test.tolist()])
    assert calibration_error(reliability_bins(mapped, truth)) < 0.04
    assert calibration_error(reliability_bins(test, truth)) > 0.3
    eight = truth[(mapped > 0.35) & (mapped < 0.45)]
    assert eight.mean() == pytest.approx(0.4, abs=0.06)


def test_the_fit_is_the_maximum_of_the_likelihood():
    """At the maximum both sums of the residuals are 0; this needs no other implementation."""
    own, right = outputs(500, 3, scale=1.3, shift=0.4)
    found = fit(judged(own, right))
    scale, shift = found.scale, found.shift
    positives = int(right.sum())
    targets = np.where(right, (positives + 1) / (positives + 2), 1 / (500 - positives + 2))
    odds = np.array([logit(each) for each in own])
    residuals = targets - 1 / (1 + np.exp(-(scale * odds + shift)))
    assert residuals.sum() == pytest.approx(0.0, abs=1e-4)
    penalty = RIDGE * scale * odds.var()
    assert (residuals * odds).sum() == pytest.approx(penalty, abs=1e-4)


def test_a_confidence_that_says_nothing_becomes_the_share_of_right_outputs():
    draw = np.random.default_rng(4)
    own = draw.uniform(0.1, 0.9, 400)
    right = own < 0.35  # the more confident, the less often right: no mapping may turn that around
    found = fit(judged(own, right))
    assert found.scale == 0.0
    assert found.of(0.9) == pytest.approx(right.mean(), abs=0.01)
    assert fit(judged(np.full(60, 0.7), np.arange(60) < 30)).scale == 0.0


def test_the_order_of_outputs_stays_and_certainty_is_never_reached():
    found = fit(judged(*outputs(300, 5, scale=2.0, shift=0.0)))
    values = [found.of(each) for each in (0.0, 0.2, 0.5, 0.9, 1.0)]
    assert values == sorted(values)
    assert 0.0 < values[0] < values[-1] < 1.0
    all_right = fit(judged(np.linspace(0.5, 0.99, 50), np.ones(50, bool)))
    assert all_right.of(0.99) < 1.0


def test_the_error_is_that_of_the_definition():
    """Guo et al. 2017, equation 3, by hand: 2 outputs of 0.9, one right; 1 of 0.15, right."""
    bins = reliability_bins(np.array([0.9, 0.9, 0.15]), np.array([True, False, True]))
    assert bins == [ReliabilityBin(1, 0.15, 1.0), ReliabilityBin(2, 0.9, 0.5)]
    assert calibration_error(bins) == pytest.approx((1 * 0.85 + 2 * 0.4) / 3)


def test_few_outputs_give_no_calibration():
    assert calibrated([JudgedOutput(0.5, True)] * 49, "", "") is None
    odd = [JudgedOutput(0.5, False, usual=False)] * 9
    assert calibrated([JudgedOutput(0.5, True)] * 49 + odd, "", "") is None
    assert calibrated([JudgedOutput(0.5, True)] * 50 + odd, "", "") is not None


def test_evidence_finds_what_a_sure_model_does_not_know():
    """Every odd input is translated as surely as a usual one, and wrongly."""
    own, right = outputs(300, 6, scale=1.0, shift=1.0)
    unknown = np.random.default_rng(7).uniform(0.0, 0.1, 300)
    usual = judged(own, right, [{"unknown": each} for each in unknown.tolist()])
    odd = [JudgedOutput(each.own, False, {"unknown": 0.4}, usual=False) for each in usual]
    found = calibrated([*usual, *odd], "", "")
    assert found is not None
    assert found.weights["unknown"] < 0.0
    assert found.of(0.95, {"unknown": 0.05}) > 0.6 > 0.1 > found.of(0.95, {"unknown": 0.4})
    assert found.auroc > 0.85 > 0.7 > found.auroc_before
    assert found.outputs == 300
    assert found.error < 0.1


def test_evidence_never_counts_against_what_it_stands_for():
    own, right = outputs(200, 8, scale=1.0, shift=0.0)
    unknown = [{"unknown": 0.2 * each} for each in right.tolist()]  # the unknown ones are right
    assert fit(judged(own, right, unknown)).weights == {}


def test_the_area_is_the_share_of_pairs_in_order():
    right = np.array([True, True, False, False, False])
    scores = np.array([0.9, 0.4, 0.4, 0.3, 0.95])
    # of the 6 pairs, 0.9 is above two and 0.4 above one, with one tie
    assert area_under_curve(scores, right) == pytest.approx(3.5 / 6)
    assert area_under_curve(scores, np.ones(5, bool)) == 0.5


def test_what_counts_as_right_is_said():
    texts, references = ["a cat sat", "a dog", "x"], ["a cat sat", "a cat sat on it", "x "]
    exact, meaning = right_translations(texts, references, exact=True)
    assert exact == [True, False, True]
    assert meaning == "that it equals the reference in every character"
    close, meaning = right_translations(texts[:2], references[:2], exact=False)
    assert close == [True, False]
    assert meaning == "a chrF2 of 70 or more against the reference"


def test_the_card_shows_the_reliability_diagram():
    found = Calibration(
        1.0,
        0.0,
        "that it is right",
        "60 sentences",
        60,
        0.2,
        0.05,
        (ReliabilityBin(60, 0.8, 0.75),),
    )
    text = card_text(BundleConfig("translation", {}), Card("m", confidence=found))
    assert "the probability that an output is right, which means that it is right" in text
    assert "| 60 | 0.80 | 0.75 |" in text
    assert math.isclose(found.of(0.3), 0.3)
