"""The GRU's steps and additive scores in C against their readable twins."""

import pytest
import torch

from jumok.kernels.recurrent import additive_scores, additive_scores_plainly, gru, serves
from tests.kernels.twins import assert_twins

DTYPES = [torch.float32, torch.bfloat16]


def gru_plainly(projected, state, weight, bias):
    seen = []
    for step in range(projected.shape[1]):
        by_input, by_state = projected[:, step].chunk(3, 1), (state @ weight.T + bias).chunk(3, 1)
        reset, keep = ((by_input[i] + by_state[i]).sigmoid() for i in range(2))
        new = torch.tanh(by_input[2] + reset * by_state[2])
        state = (1 - keep) * new + keep * state
        seen.append(state)
    return torch.stack(seen, 1)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("batch", "length", "dim"), [(3, 5, 16), (33, 2, 32), (1, 1, 48)])
def test_gru_agrees_with_twin(batch, length, dim, dtype):
    torch.manual_seed(1)
    inputs = [
        torch.randn(batch, length, 3 * dim),
        torch.randn(batch, dim).tanh(),
        torch.randn(3 * dim, dim) * dim**-0.5,
        torch.randn(3 * dim),
    ]
    assert_twins(gru, gru_plainly, inputs, dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(3, 5, 7, 16), (2, 1, 11, 48), (1, 3, 1, 32)])
def test_additive_scores_agree_with_twin(shape, dtype):
    torch.manual_seed(1)
    batch, queries, keys, hidden = shape
    inputs = [
        torch.randn(batch, queries, hidden),
        torch.randn(batch, keys, hidden),
        torch.randn(hidden),
    ]

    def fast(*given):
        return additive_scores(*given).to(dtype)

    assert_twins(fast, additive_scores_plainly, inputs, dtype)


def test_additive_scores_of_huge_sums_are_finite_and_right():
    query = torch.tensor([[[1e4] * 16, [-1e4] * 16, [0.0] * 16]])
    scores = additive_scores(query, torch.zeros(1, 1, 16), torch.ones(16))
    torch.testing.assert_close(scores[0, :, 0], torch.tensor([16.0, -16.0, 0.0]))
    assert additive_scores(query * torch.nan, query, torch.ones(16)).isnan().all()


def test_widths_that_are_no_multiple_of_sixteen_take_the_twin():
    assert not serves(torch.zeros(2, 17))
    query, key, energy = torch.randn(2, 3, 7), torch.randn(2, 5, 7), torch.randn(7)
    expected = additive_scores_plainly(query, key, energy)
    assert torch.equal(additive_scores(query, key, energy), expected)
