"""Softness against closed forms, and the lab for real."""

import math
from pathlib import Path

import pytest
import torch

from jumok_lectures.experiments import scale
from jumok_lectures.findings import Setting


def test_alike_scores_have_the_entropy_of_n_and_the_gradient_of_a_centring_matrix() -> None:
    found = scale.softness(torch.zeros(3, 8))
    # J = (I - 11'/8) / 8: seven eigenvalues of 1/8.
    assert found.entropy == pytest.approx(math.log(8))
    assert found.gradient == pytest.approx(math.sqrt(7) / 8)


def test_one_far_score_takes_all_and_lets_no_gradient_through() -> None:
    found = scale.softness(torch.tensor([[1000.0, 0.0, 0.0], [0.0, 1000.0, 0.0]]))
    assert found.entropy == 0.0
    assert found.gradient == 0.0
    assert found.largest == 1000.0


def test_exp_overflows_at_710_and_the_stable_form_does_not() -> None:
    found = scale.overflow()
    assert found["exp_709"] == pytest.approx(8.218407461554972e307)  # as lecture 000 prints it
    assert found["exp_710_is_finite"] is False
    assert found["as_written_is_finite"] is False
    assert found["stable_first_weight"] == pytest.approx(1 / (1 + math.exp(-1)))


def test_the_lab_finds_the_claim_to_hold(tmp_path: Path) -> None:
    found = scale.run(Setting((1,), False, tmp_path))
    assert found.outcome == "holds"
    spreads = [row[1] for row in found.rows]
    # The standard deviation of q.k is sqrt(d_k): 64 at 4096, to a few percent.
    assert spreads[-1] == pytest.approx(64.0, rel=0.05)
