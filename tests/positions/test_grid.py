"""Positions of cells: what each says of its row and its column."""

import torch

from jumok.positions.sinusoidal import GridPositions, sinusoids


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


def test_positions_take_the_number_format_asked_for():
    assert GridPositions(8, 2, 2)(torch.zeros(1, dtype=torch.bfloat16)).dtype == torch.bfloat16
