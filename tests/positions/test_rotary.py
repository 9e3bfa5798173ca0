"""Rotations: lengths stay, and a score knows the distance alone."""

import math

import pytest
import torch

from jumok.positions.rotary import RotaryPositions


def test_pair_is_turned_by_its_angle():
    """Pair (2i, 2i+1) at position t turns by t / 10000^(2i/dim): (1, 0) becomes (cos, sin)."""
    states = torch.tensor([1.0, 0, 1, 0, 1, 0]).expand(1, 1, 4, 6)
    turned = RotaryPositions(6)(states, position=5)[0, 0]
    for row, t in enumerate((5, 6, 7, 8)):
        for i in range(3):
            angle = t / 10000 ** (2 * i / 6)
            expected = [math.cos(angle), math.sin(angle)]
            assert turned[row, 2 * i : 2 * i + 2].tolist() == pytest.approx(expected, abs=1e-6)


def test_first_position_stays_as_it_is():
    states = torch.arange(12.0).view(1, 2, 1, 6)
    assert torch.equal(RotaryPositions(6)(states, 0), states)


def test_scores_depend_on_the_distance_alone():
    torch.manual_seed(1)
    rotate = RotaryPositions(6)
    query, key = torch.randn(2, 1, 1, 1, 6)

    def score(m: int, n: int) -> float:
        return float((rotate(query, m) * rotate(key, n)).sum())

    for m, n in [(3, 1), (103, 101), (1031, 1029)]:
        assert score(m, n) == pytest.approx(score(2, 0), abs=1e-4)
    assert abs(score(3, 0) - score(2, 0)) > 1e-2
    assert abs(score(0, 2) - score(2, 0)) > 1e-2


def test_turning_keeps_lengths():
    states = torch.arange(2.0 * 3 * 5 * 6).view(2, 3, 5, 6)
    turned = RotaryPositions(6)(states, 7)
    torch.testing.assert_close(turned.norm(dim=-1), states.norm(dim=-1))


def test_far_positions_are_exact_in_bfloat16_too():
    """A position of 1031 rounded to 8 bits would be 1032."""
    states = torch.ones(1, 1, 1, 6)
    rotate = RotaryPositions(6)
    low = rotate.to(torch.bfloat16)(states.bfloat16(), 1031).float()
    torch.testing.assert_close(low, RotaryPositions(6)(states, 1031), atol=2e-2, rtol=0)


def test_rotary_has_nothing_to_save():
    assert not RotaryPositions(6).state_dict()
