from math import inf, nan

import numpy as np
import pytest
import torch

from jumok.decoding import stepper, torch_stepper
from jumok.decoding.stepper import Reading, reduced
from jumok.decoding.torch_stepper import reduced_on_device


def rows_with_ties(size: int) -> torch.Tensor:
    """13 rows of whole numbers below 7, so that most are equal; two rows partly minus infinity."""
    rows = (torch.arange(13 * size).view(13, size) * 37 % 101 % 7).float()
    rows[3, 2:] = -inf
    rows[5] = 0.0
    return rows


@pytest.mark.parametrize("size", [11, 64, 127, 128, 129, 400, 1009, 1024])
@pytest.mark.parametrize("count", [1, 3, 7, 12])
def test_largest_are_those_of_a_stable_sort(size: int, count: int) -> None:
    scores = rows_with_ties(size)
    sorted_values, sorted_places = scores.sort(dim=1, descending=True, stable=True)
    real = sorted_values[:, :count] > -inf
    of_torch = torch_stepper.largest_on_device(scores, min(count, size))
    places, values = map(torch.from_numpy, stepper.largest(scores.numpy(), count))
    for found, their_places in (of_torch, (values, places)):
        assert torch.equal(found, sorted_values[:, :count])
        assert torch.equal(their_places[real], sorted_places[:, :count][real])


def test_what_is_no_number_is_never_among_the_largest() -> None:
    scores = np.full((2, 700), nan, np.float32)
    scores[1] = range(700)
    for some in (scores, scores[:, :100]):
        places, values = stepper.largest(some, 3)
        last = some.shape[1] - 1
        assert values.tolist() == [[-inf] * 3, [last, last - 1, last - 2]]
        assert places[1].tolist() == [last, last - 1, last - 2]


def test_a_device_gives_what_the_host_does() -> None:
    """The same readings, with all that a row may want, reduced where the numbers are."""
    torch.manual_seed(1)
    scores = torch.randn(3, 4, 301).log_softmax(2)
    readings = [
        Reading((2, 5, 7, 9), 0, 0, best=5, asked=(3, 8), without=3),
        Reading((2, 6, 6, 6), 0, 0, best=2, asked=(4,), whole=True),
        Reading((2, 1, 1, 1), 0, 0),
    ]
    here = reduced(scores.numpy().copy(), readings)
    there = reduced_on_device(scores.clone(), readings)
    for ours, theirs in (
        (here.tokens, there.tokens), (here.values, there.values), (here.begun, there.begun),
        (here.asked[:2], there.asked[:2]), (here.whole, there.whole),
    ):  # fmt: skip
        np.testing.assert_allclose(ours, theirs, atol=1e-5)
