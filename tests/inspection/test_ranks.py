"""Rank correlation by hand and against SciPy."""

import numpy as np
import pytest

from jumok.inspection.heads.ranks import rank_correlations, ranks, spearman


def test_ranks_of_equal_values_are_their_mean():
    np.testing.assert_array_equal(ranks(np.array([0.3, 0.1, 0.3, 0.9, 0.3])), [3, 1, 3, 5, 3])


def test_spearman_is_that_of_the_formula():
    """Without ties 1 - 6 sum d^2 / n (n^2 - 1)."""
    first, second = np.array([1.0, 2.0, 3.0, 4.0, 5.0]), np.array([20.0, 10.0, 50.0, 30.0, 40.0])
    # places 2 1 5 3 4: differences 1 1 2 1 1
    assert spearman(first, second) == pytest.approx(1 - 6 * (1 + 1 + 4 + 1 + 1) / (5 * 24))
    assert spearman(first, first**3) == pytest.approx(1.0)
    assert spearman(first, -first) == pytest.approx(-1.0)


def test_a_side_without_any_order_has_no_correlation():
    assert np.isnan(spearman(np.array([1.0, 1.0, 1.0]), np.array([1.0, 2.0, 3.0])))
    assert np.isnan(spearman(np.array([1.0]), np.array([1.0])))
    assert np.isnan(spearman(np.array([]), np.array([])))


def test_spearman_is_that_of_scipy():
    stats = pytest.importorskip("scipy.stats", reason="needs SciPy")
    random = np.random.default_rng(5)
    for _ in range(20):
        first, second = random.integers(0, 6, size=(2, 11)).astype(float)
        assert spearman(first, second) == pytest.approx(stats.spearmanr(first, second).statistic)


def test_each_measure_is_compared_with_each():
    measures = [np.array([1.0, 2.0, 3.0]), np.array([3.0, 2.0, 1.0]), np.array([1.0, 3.0, 2.0])]
    expected = [[1, -1, 0.5], [-1, 1, -0.5], [0.5, -0.5, 1]]
    np.testing.assert_allclose(rank_correlations(measures), expected)
