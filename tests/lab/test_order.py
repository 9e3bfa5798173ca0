"""Which readers see a set."""

from pathlib import Path

import pytest
import torch

from jumok.lab import order
from jumok.lab.findings import Setting


def test_a_reader_of_single_words_permutes_exactly() -> None:
    table = torch.eye(order.WORDS)
    assert order.moved(lambda tokens: table[tokens], seed=1) == (0.0, pytest.approx(0.0, abs=1e-6))


def test_a_reader_of_places_alone_moves() -> None:
    places = torch.eye(order.LENGTH)
    outputs, mean = order.moved(lambda tokens: places.expand(len(tokens), -1, -1), seed=1)
    assert outputs > 1.0
    assert mean == 0.0


def test_the_lab_finds_a_set_without_positions_alone(tmp_path: Path) -> None:
    found = order.run(Setting((1,), False, tmp_path))
    assert found.outcome == "holds"
    sets = {name: both["outputs"] < order.SAME for name, both in found.figures.items()}
    assert [name for name, is_set in sets.items() if is_set] == ["none"]
