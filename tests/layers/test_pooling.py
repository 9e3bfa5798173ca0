"""Many vectors to one, by hand."""

import torch

from jumok.layers.pooling import first_state, mean_of_real

STATES = torch.tensor([[[1.0, 2.0], [3.0, 6.0], [5.0, 7.0]], [[0.0, 4.0], [2.0, 0.0], [9.0, 9.0]]])
ALLOWED = torch.tensor([[True, True, True], [True, True, False]])


def test_the_mean_is_of_real_positions_only():
    assert mean_of_real(STATES, ALLOWED).tolist() == [[3.0, 5.0], [1.0, 2.0]]
    assert torch.allclose(mean_of_real(STATES, None)[1], torch.tensor([11 / 3, 13 / 3]))


def test_the_first_state_is_starts():
    assert first_state(STATES, ALLOWED).tolist() == [[1.0, 2.0], [0.0, 4.0]]
