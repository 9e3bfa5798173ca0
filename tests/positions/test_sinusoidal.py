"""The waves of Vaswani et al. 2017, section 3.5, one number at a time."""

import math

import pytest
import torch

from jumok.positions.sinusoidal import GridPositions, SinusoidalPositions, sinusoids


@pytest.mark.parametrize("dim", [6, 7, 256])
def test_sinusoids_follow_the_formula(dim):
    table = sinusoids(1031, dim)
    assert table.shape == (1031, dim)
    for t in (0, 1, 2, 41, 1030):
        for i in {0, 1, 2, dim // 2 - 1}:
            angle = t / 10000 ** (2 * i / dim)
            assert float(table[t, 2 * i]) == pytest.approx(math.sin(angle), abs=1e-6)
            assert float(table[t, 2 * i + 1]) == pytest.approx(math.cos(angle), abs=1e-6)


def test_first_position_is_zeros_and_ones():
    assert sinusoids(1, 6)[0].tolist() == [0, 1, 0, 1, 0, 1]


def test_all_positions_lie_on_one_sphere_and_neighbours_are_alike():
    """|P_t|^2 = dim / 2, because sin^2 + cos^2 = 1; P_s . P_t depends on s - t alone."""
    table = sinusoids(101, 64)
    torch.testing.assert_close(table.square().sum(1), torch.full((101,), 32.0))
    products = table @ table.t()
    for distance in (1, 13):
        diagonal = products.diagonal(distance)
        torch.testing.assert_close(diagonal, diagonal[:1].expand_as(diagonal), atol=1e-4, rtol=0)


def test_positions_reach_further_than_their_table_when_asked():
    positions = SinusoidalPositions(6, length=5)
    assert torch.equal(positions(2, 3), sinusoids(5, 6)[2:])
    assert torch.equal(positions(3, 11), sinusoids(14, 6)[3:])
    assert torch.equal(positions(0, 5), sinusoids(5, 6))


def test_positions_have_nothing_to_learn_and_nothing_to_save():
    positions = SinusoidalPositions(6, 5)
    assert not list(positions.parameters())
    assert not positions.state_dict()


def test_a_cell_says_its_row_and_its_column():
    table = GridPositions(12, 3, 5)(torch.zeros(1))
    assert table.shape == (15, 12)
    waves = sinusoids(5, 6)
    for row in range(3):
        for column in range(5):
            cell = table[row * 5 + column]
            assert torch.equal(cell[:6], waves[row])
            assert torch.equal(cell[6:], waves[column])


def test_no_two_cells_are_alike():
    table = GridPositions(8, 7, 11)(torch.zeros(1))
    distances = torch.cdist(table, table) + 9 * torch.eye(77)
    assert float(distances.min()) > 0.01


def test_positions_of_cells_take_the_number_format_asked_for():
    assert GridPositions(8, 2, 2)(torch.zeros(1, dtype=torch.bfloat16)).dtype == torch.bfloat16
