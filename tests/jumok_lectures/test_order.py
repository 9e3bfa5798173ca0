"""Which readers see a set."""

from pathlib import Path

import pytest
import torch

from jumok_lectures.catalog import find
from jumok_lectures.experiments import order
from jumok_lectures.findings import Setting
from jumok_lectures.texts import Texts

SAME = Texts("order").bound("largest_deviation_without_positions")

LAB = find("order")


def test_a_reader_of_single_words_permutes_exactly() -> None:
    table = torch.eye(order.WORDS)
    assert order.moved(lambda tokens: table[tokens], seed=1) == (0.0, pytest.approx(0.0, abs=1e-6))


def test_a_reader_of_places_alone_moves() -> None:
    places = torch.eye(order.LENGTH)
    outputs, mean = order.moved(lambda tokens: places.expand(len(tokens), -1, -1), seed=1)
    assert outputs > 1.0
    assert mean == 0.0


def test_the_lab_finds_sets_where_nothing_tells_order(tmp_path: Path) -> None:
    found = order.run(Setting((1,), False, tmp_path))
    assert found.outcome == "holds"
    sets = {name: both["outputs"] < SAME for name, both in found.figures.items()}
    assert tuple(name for name, is_set in sets.items() if is_set) == order.SETS


def test_what_is_asked_from_elsewhere_stays_and_does_not_permute() -> None:
    general = order.layers(seed=1)["general"]
    with_its_words = order.layers(seed=1)["self"]
    assert order.moved(general, seed=1, asked=True)[0] < SAME
    assert order.moved(with_its_words, seed=1)[0] < SAME
    assert order.moved(with_its_words, seed=1, asked=True)[0] > 0.1
