from math import inf

import pytest
import torch

from jumok.decoding.filters import largest, place_of_largest


def rows_with_ties(size: int) -> torch.Tensor:
    """13 rows of whole numbers below 7, so that most are equal; two rows partly minus infinity."""
    rows = (torch.arange(13 * size).view(13, size) * 37 % 101 % 7).float()
    rows[3, 2:] = -inf
    rows[5] = 0.0
    return rows


@pytest.mark.parametrize("size", [11, 64, 127, 128, 129, 400, 1009, 1024])
@pytest.mark.parametrize("count", [1, 3, 7])
def test_largest_are_those_of_a_stable_sort(size: int, count: int) -> None:
    scores = rows_with_ties(size)
    values, places = largest(scores, count)
    sorted_values, sorted_places = scores.sort(dim=1, descending=True, stable=True)
    assert torch.equal(values, sorted_values[:, :count])
    real = values > -inf
    assert torch.equal(places[real], sorted_places[:, :count][real])


@pytest.mark.parametrize("size", [1, 11, 64, 127, 128, 129, 1009])
def test_place_of_largest_is_the_first_of_equals(size: int) -> None:
    scores = rows_with_ties(max(size, 3))[:, :size]
    expected = [row.index(max(row)) for row in scores.tolist()]
    assert place_of_largest(scores).tolist() == expected
