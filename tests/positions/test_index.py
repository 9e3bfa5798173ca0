"""Numbers and shares of the sentence, one by one, and what the lectures hold against them."""

import pytest
import torch

from jumok.positions.index import FractionPositions, IndexPositions


def test_index_is_the_number_of_the_position():
    assert IndexPositions()(0, 4).tolist() == [[0], [1], [2], [3]]
    assert IndexPositions()(41, 2).tolist() == [[41], [42]]


def test_indexes_grow_without_bound():
    """Lecture 001: the numbers become too large."""
    assert IndexPositions()(1030, 1).tolist() == [[1030]]


def test_fraction_runs_from_0_to_1_in_each_sentence():
    """Lengths 5, 3 and 1; what lies beyond an end is padding."""
    found = FractionPositions(101)(0, 5, torch.tensor([5, 3, 1]))[..., 0]
    assert found[0].tolist() == [0, 0.25, 0.5, 0.75, 1]
    assert found[1].tolist() == [0, 0.5, 1, 1.5, 2]
    assert found[2, 0] == 0
    assert torch.isfinite(found).all()


def test_fraction_of_a_sentence_still_written_is_of_the_longest():
    """100 steps lead from the first of 101 positions to the last."""
    positions = FractionPositions(101)
    assert positions(0, 2)[..., 0].tolist() == [[0, pytest.approx(0.01)]]
    assert positions(50, 1)[..., 0].tolist() == [[0.5]]


def test_equal_distances_differ_between_sentences_of_other_lengths():
    """Lecture 002: with a longer sentence the values change."""
    short, long = FractionPositions(101)(0, 3, torch.tensor([3, 5]))[..., 0]
    assert short[1] - short[0] == 2 * (long[1] - long[0])
