from math import inf, log, nan

import numpy as np
import pytest

from jumok.decoding.rank import Ranker, google_length_penalty, log_coverage, power_length_penalty
from jumok.errors import ModelError


def test_google_length_penalty_by_hand() -> None:
    # ((5 + 7) / 6) ** 0.5 = 1.41421; alpha 0 ranks by log-probability
    assert google_length_penalty(0.5)(7) == pytest.approx(1.41421, abs=1e-5)
    assert google_length_penalty(1.0)(1) == 1.0
    assert google_length_penalty(0.0)(99) == 1.0


def test_power_length_penalty_of_one_is_the_average() -> None:
    assert power_length_penalty(1.0)(7) == 7.0
    assert power_length_penalty(2.0)(3) == 9.0


def test_log_coverage_by_hand() -> None:
    # Attention 1.5, 0.5, 0.25, and a padded position: log 1 + log 0.5 + log 0.25 = -2.0794
    attention = np.array([[1.5, 0.5, 0.25, 0.0]], np.float32)
    allowed = np.array([True, True, True, False])
    assert log_coverage(attention, allowed).item() == pytest.approx(log(0.125), abs=1e-6)
    # all four are real: the ignored one counts as 1e-6, log = -13.8155
    assert log_coverage(attention, None).item() == pytest.approx(-15.8950, abs=1e-4)


def test_score_by_hand() -> None:
    # -1 - 2 - 0.5 = -3.5 over ((5 + 3) / 6) ** 1 = 4/3, and 0.2 * log 0.5
    ranker = Ranker(google_length_penalty(1.0), coverage_penalty=0.2)
    hypothesis = ranker.rate([4, 5], [-1.0, -2.0, -0.5], log_coverage=log(0.5))
    assert hypothesis.finished
    assert hypothesis.log_probability == -3.5
    assert hypothesis.score == pytest.approx(-2.625 - 0.138629, abs=1e-6)
    assert not ranker.rate([4, 5], [-1.0, -2.0]).finished


def test_penalties_stand_at_their_lengths() -> None:
    expected = [1.0, 1.0, 7 / 6, 8 / 6]
    assert Ranker(google_length_penalty(1.0)).penalties(2).tolist() == pytest.approx(expected)


@pytest.mark.parametrize("value", [nan, -inf])
def test_ranker_refuses_what_is_no_probability(value: float) -> None:
    with pytest.raises(ModelError, match="look for NaN in the model's weights"):
        Ranker().rate([4], [value, -1.0])
