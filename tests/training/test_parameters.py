"""All weights in one row, and windows into it."""

import pytest
import torch
from torch import nn

from jumok.training.optimization.parameters import FlatParameters
from tests.training.tiny import model


class Tied(nn.Module):
    """A bias before its matrix, and a matrix under two names."""

    def __init__(self) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.arange(3.0))
        self.table = nn.Parameter(torch.arange(35.0).view(5, 7))
        self.again = self.table
        self.wide = nn.Parameter(torch.arange(2.0 * 3 * 11).view(2, 3, 11))


def test_matrices_lie_first_and_each_starts_on_a_cache_line():
    """35 and 66 elements take 64 and 96 (multiples of 32), the bias 32; only matrices decay."""
    flat = FlatParameters(Tied())
    assert (flat.decayed, flat.size) == (160, 192)
    row = flat.flatten(Tied())
    assert row[:35].tolist() == list(range(35))
    assert row[64:130].tolist() == list(range(66))
    assert row[160:163].tolist() == [0, 1, 2]
    assert row.count_nonzero() == 34 + 65 + 2  # nothing between


def test_views_are_windows_by_name():
    flat = FlatParameters(Tied())
    row = flat.flatten(Tied())
    views = flat.views(row)
    assert set(views) == {"bias", "table", "wide"}
    views["table"][4, 6] = 1031
    assert row[34] == 1031


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_attached_model_computes_with_the_row_and_writes_its_gradient_beside_it(dtype):
    tied = Tied()
    flat = FlatParameters(tied)
    weights = flat.flatten(tied).to(dtype)
    gradients = torch.zeros(flat.size, dtype=dtype)
    flat.attach(tied, weights, gradients)
    assert tied.again is tied.table
    (tied.table.sum() * 3 + tied.again.sum() * 2 + tied.bias[1]).backward()
    assert gradients[:35].tolist() == [5] * 35
    assert gradients[160:163].tolist() == [0, 1, 0]
    weights[1] = 7
    assert tied.table[0, 1] == 7


def test_every_weight_of_a_transformer_has_its_place():
    trained = model(positions="learned", max_length=13)
    expected = {name: p.detach().clone() for name, p in trained.named_parameters()}
    flat = FlatParameters(trained)
    views = flat.views(flat.flatten(trained))
    assert set(views) == set(expected)
    assert all(torch.equal(views[name], tensor) for name, tensor in expected.items())


def test_filters_of_convolutions_are_the_rows_of_matrices():
    """4 filters of 3 x 2 x 2 as a matrix of 4 x 12, whose 48 elements take 64."""
    convolved = nn.Sequential(nn.Conv2d(3, 4, 2), nn.Linear(12, 4), nn.LayerNorm(4))
    flat = FlatParameters(convolved)
    assert flat.matrices == [(0, (1, 4, 12)), (64, (1, 4, 12))]
    assert flat.hidden == 128
