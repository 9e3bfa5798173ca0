"""Each erratum against numbers from elsewhere."""

import math
from pathlib import Path

import pytest
import torch

from jumok.lab.experiments import errata
from jumok.lab.findings import Setting


def test_the_published_parameters_fit_heads_of_64() -> None:
    found = errata.width_of_heads()
    # Attention of a layer: 4 matrices of 512 x 512 with biases; with 1024: 512 x 8192. 18 layers.
    wider = 18 * (4 * 512 * 8192 + 3 * 8192 + 512 - 4 * (512 * 512 + 512)) / 1e6
    assert found.written - found.right == pytest.approx(wider, rel=1e-6)
    assert abs(found.right - 65.0) < 3.0
    assert found.slips


def test_a_mask_that_multiplies_lets_the_future_be_seen() -> None:
    multiplied, added = errata.masked(seed=3)
    torch.testing.assert_close(added.tril(), added)
    # The first query: its own score s and seven scores of 0.
    first = multiplied[0]
    assert first[1:].unique().numel() == 1
    assert float(first.sum()) == pytest.approx(1.0)
    assert errata.mask_multiplied(multiplied, added).written > 0.2


def test_the_lab_finds_five_slips_and_one_difference(tmp_path: Path) -> None:
    found = errata.run(Setting((1,), False, tmp_path))
    assert found.outcome is None
    assert {name for name, each in found.figures.items() if not each["slips"]} == {"positions"}
    assert found.figures["exp(710)"]["right"] == pytest.approx(1 / (1 + math.exp(-1)))
