from math import inf

import numpy as np
import pytest

from jumok.decoding.sampling import Sampling, WrittenCounts, repeats

SCORES = np.log(np.array([0.15, 0.5, 0.05, 0.3], np.float32))


def filtered(
    scores: np.ndarray = SCORES,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    min_p: float | None = None,
) -> np.ndarray:
    before = scores.copy()
    found = Sampling(temperature, top_k, top_p, min_p).of(scores)
    assert (scores == before).all()
    return found


def kept(scores: np.ndarray = SCORES, **keys: float) -> list[int]:
    """The tokens that may still come."""
    return np.flatnonzero(filtered(scores, **keys) > -inf).tolist()


def test_what_would_end_a_stretch_again() -> None:
    written = [1, 2, 1, 3, 1, 2]
    assert sorted(set(repeats(written, 1))) == [1, 2, 3]
    assert repeats(written, 2) == [1]  # 2 1
    assert repeats(written, 3) == [1]  # 1 2 1
    assert repeats(written, 4) == []
    assert repeats([4], 3) == []
    assert repeats([4, 5, 6, 4, 5, 7, 4, 5], 3) == [6, 7]


def test_temperature_raises_probabilities_to_its_inverse() -> None:
    # temperature 1/2 squares: 0.0225 0.25 0.0025 0.09, together 0.365
    squared = np.exp(filtered(temperature=0.5))
    shares = (squared / squared.sum()).tolist()
    assert shares == pytest.approx([0.06164, 0.68493, 0.00685, 0.24658], abs=1e-5)


def test_top_k_keeps_the_most_probable() -> None:
    assert kept(top_k=1) == [1]
    assert kept(top_k=3) == [0, 1, 3]
    assert kept(top_k=99) == [0, 1, 2, 3]


def test_top_k_keeps_the_lower_id_of_equals() -> None:
    assert kept(np.array([0, 1, 0, 0, 0, 0, 0], np.float32), top_k=2) == [0, 1]


def test_top_p_keeps_the_fewest_that_hold_the_mass() -> None:
    # in order 0.5, 0.3, 0.15, 0.05
    assert kept(top_p=0.1) == [1]
    assert kept(top_p=0.49) == [1]
    assert kept(top_p=0.51) == [1, 3]
    assert kept(top_p=0.79) == [1, 3]
    assert kept(top_p=0.81) == [0, 1, 3]
    assert kept(top_p=1.0) == [0, 1, 2, 3]


def test_top_p_keeps_a_nucleus_of_many() -> None:
    # 601 tokens of equal probability: 500.5 of them hold 0.83278
    assert kept(np.zeros(601, np.float32), top_p=500.5 / 601) == list(range(501))


def test_top_p_after_top_k_counts_what_is_left() -> None:
    # of 0.5 and 0.3, the first holds 0.625
    assert kept(top_p=0.62, top_k=2) == [1]
    assert kept(top_p=0.63, top_k=2) == [1, 3]


def test_min_p_keeps_what_has_its_share_of_the_highest_probability() -> None:
    # shares of 0.5: 0.3, 1, 0.1, 0.6
    assert kept(min_p=0.61) == [1]
    assert kept(min_p=0.59) == [1, 3]
    assert kept(min_p=0.29) == [0, 1, 3]
    assert kept(min_p=0.09) == [0, 1, 2, 3]
    assert kept(min_p=1.0) == [1]
    assert kept(min_p=0.0) == [0, 1, 2, 3]
    assert kept(np.zeros(3, np.float32), min_p=1.0) == [0, 1, 2]  # all have the highest


def test_penalties_are_openai_s() -> None:
    """By hand: each score less frequency times its count, and presence where there is one."""
    counts = WrittenCounts(frequency=0.5, presence=0.25)
    scores = np.array([1.0, 2.0, 3.0, 4.0], np.float32)
    assert counts.penalised(scores).tolist() == scores.tolist()
    for token in (3, 3, 1, 3):
        counts.note(token)
    assert counts.penalised(scores).tolist() == [1.0, 2.0 - 0.75, 3.0, 4.0 - 1.75]
    assert scores.tolist() == [1.0, 2.0, 3.0, 4.0]
