"""Slopes from the paper, and distances by hand."""

import pytest
import torch

from jumok.positions.alibi import AlibiPositions
from jumok.positions.tables import slopes


def test_slopes_are_the_papers():
    """Press et al. 2022, section 3: 8 heads 1/2 to 1/256; 16 heads 2^-0.5 to 2^-8."""
    assert slopes(8) == [1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32, 1 / 64, 1 / 128, 1 / 256]
    assert slopes(16) == pytest.approx([2 ** (-i / 2) for i in range(1, 17)])
    assert slopes(4) == [1 / 4, 1 / 16, 1 / 64, 1 / 256]
    assert slopes(1) == [1 / 256]


@pytest.mark.parametrize(
    ("heads", "expected"),
    [
        (3, [1 / 16, 1 / 256, 1 / 4]),  # those of 2, and the first of 4
        (6, [1 / 4, 1 / 16, 1 / 64, 1 / 256, 1 / 2, 1 / 8]),  # of 4, and two of 8
        (12, [*slopes(8), *slopes(16)[0:8:2]]),
    ],
)
def test_slopes_between_powers_of_two_are_the_published_codes(heads, expected):
    """get_slopes in github.com/ofirpress/attention_with_linear_biases."""
    assert slopes(heads) == pytest.approx(expected)


def states(length: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.zeros(2, 4, length, 5, dtype=dtype)


def test_bias_falls_with_the_distance():
    """A quarter for each step back in the first of four heads, 1/256 in the last."""
    bias = AlibiPositions(4)(states(3), states(3), 0)
    assert bias.shape == (1, 4, 3, 3)
    back = torch.tensor([[0.0, 0, 0], [1, 0, 0], [2, 1, 0]])
    assert torch.equal(bias[0].tril(), torch.stack([-back * m for m in slopes(4)]))


def test_a_head_that_sees_far_back_sees_near_ahead():
    """Otherwise an encoder could not tell a sentence from its reverse."""
    bias = AlibiPositions(4)(states(3), states(3), 0)[0]
    assert bias[0].tolist() == [[0, -1 / 256, -2 / 256], [-1 / 4, 0, -1 / 256], [-2 / 4, -1 / 4, 0]]
    assert torch.equal(bias.flip(0).transpose(1, 2), bias)


def test_a_step_gets_the_last_row_of_the_whole():
    positions = AlibiPositions(4)
    whole = positions(states(7), states(7), 0)
    for t in range(7):
        step = positions(states(1), states(t + 1), t)
        assert torch.equal(step[:, :, 0], whole[:, :, t, : t + 1])


def test_far_distances_are_exact_in_a_model_in_bfloat16():
    """1031 rounded to 8 bits would be 1032."""
    positions = AlibiPositions(4).to(torch.bfloat16)
    bias = positions(states(1, torch.bfloat16), states(1032, torch.bfloat16), 1031)
    assert bias[0, 3, 0, 0] == -1031 / 256


def test_alibi_has_nothing_to_learn_and_nothing_to_save():
    assert not list(AlibiPositions(4).parameters())
    assert not AlibiPositions(4).state_dict()
