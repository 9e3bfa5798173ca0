"""Accuracy and macro F1 by hand, and intervals."""

import pytest

from jumok.evaluation.classification import ClassifiedExamples, confusion_lines
from jumok.evaluation.intervals import interval, wilson

# Of label a: 3 predicted as a, 1 as b. Of label b: 2 as b, 2 as c. Of label c: 1 as c.
TRUTH, GIVEN = [0, 0, 0, 0, 1, 1, 1, 1, 2], [0, 0, 0, 1, 1, 1, 2, 2, 2]


def test_accuracy_and_macro_f1_by_hand():
    accuracy, f1 = ClassifiedExamples.of(TRUTH, GIVEN).scores("abc", "9 texts")
    assert accuracy.value == pytest.approx(100 * 6 / 9)
    # F1 = 2 right / (true + given): a 6/7, b 4/7, c 2/4.
    assert f1.value == pytest.approx(100 * (6 / 7 + 4 / 7 + 2 / 4) / 3)
    assert (accuracy.name, f1.name, f1.on) == ("accuracy", "macro-F1", "9 texts")
    assert accuracy.low < accuracy.value < accuracy.high


def test_macro_f1_leaves_out_a_label_that_never_came():
    _, f1 = ClassifiedExamples.of([0, 1], [0, 1]).scores("abc", "", resamples=0)
    assert (f1.value, f1.low, f1.high) == (100.0, None, None)


def test_an_interval_is_the_middle_of_what_other_samples_give():
    """The mean of 400 coins, half of them heads: 0.5 plus or minus 1.96 * 0.025."""
    low, high = interval(400, lambda rows: float((rows % 2).mean()))
    assert low == pytest.approx(0.5 - 0.049, abs=0.008)
    assert high == pytest.approx(0.5 + 0.049, abs=0.008)


def test_confusion_names_who_was_taken_for_whom():
    lines = confusion_lines(ClassifiedExamples.of(TRUTH, GIVEN), "abcd")
    assert lines[0].startswith("a: predicted as a 3, b 1; right 75.0%, 95 %: 30.1 to 95.4")
    assert lines[1].startswith("b: predicted as b 2, c 2; right 50.0%")
    assert lines[3] == "d: no example"


def test_the_interval_is_wilsons():
    """Newcombe 1998, table I: 81 of 263, 15 of 148, 0 of 20, 1 of 29 (score method)."""
    for right, total, low, high in (
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0000, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ):
        assert wilson(right, total) == pytest.approx((low, high), abs=5e-5)


def test_the_interval_stays_inside_0_and_1():
    assert wilson(0, 1)[0] == 0.0
    assert wilson(1, 1)[1] == 1.0
