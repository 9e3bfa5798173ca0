"""Accuracy and its interval."""

import pytest

from jumok.errors import DataError
from jumok.evaluation.labels import score_labels, wilson


def test_the_interval_is_wilsons():
    """Newcombe 1998, table I: 81 of 263, 15 of 148, 0 of 20, 1 of 29 (score method)."""
    for right, total, low, high in (
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0000, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ):
        assert wilson(right, total) == pytest.approx((low, high), abs=5e-5)


def test_scores_are_of_all_and_of_each_label():
    scores = score_labels(["a", "b", "b", "a"], ["a", "a", "b", "c"], "picture")
    assert [(score.name, score.value) for score in scores] == [
        ("accuracy", 50.0),
        ("recall of a", 50.0),
        ("recall of b", 100.0),
        ("recall of c", 0.0),
    ]
    assert [score.on for score in scores] == ["4 pictures", "2 pictures", *["1 picture"] * 2]
    assert scores[3].low == 0.0
    assert scores[2].high == 100.0


def test_nothing_cannot_be_scored():
    with pytest.raises(DataError, match="there is nothing to score"):
        score_labels([], [], "picture")
