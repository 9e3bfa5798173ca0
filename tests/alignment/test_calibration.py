"""The better reading is the one whose links tell more about the target."""

import math
from collections import Counter
from pathlib import Path

import pytest
import torch

from jumok.alignment import extract
from jumok.alignment.extract import choose_setting, mutual_information
from jumok.alignment.setting import AlignmentSetting
from jumok.bundle.reading import read_bundle
from jumok.bundle.weights import load_model


def test_mutual_information_of_a_code_is_its_entropy() -> None:
    # Four equally frequent pieces, each with a translation of its own: log 4. All with one: 0.
    assert mutual_information(Counter({(x, x + 10): 5 for x in range(4)})) == pytest.approx(
        math.log(4)
    )
    assert mutual_information(Counter({(x, 10): 5 for x in range(4)})) == pytest.approx(0)


def test_mutual_information_is_the_one_computed_by_hand() -> None:
    # p(0,0) = 1/2, p(0,1) = p(1,1) = 1/4: p(x=0) = 3/4, p(y=0) = p(y=1) = 1/2
    by_hand = 1 / 2 * math.log(4 / 3) + 1 / 4 * math.log(2 / 3) + 1 / 4 * math.log(2)
    assert mutual_information(Counter({(0, 0): 2, (0, 1): 1, (1, 1): 1})) == pytest.approx(by_hand)


def test_reading_that_sees_the_translation_is_chosen(
    tiny_bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Words are translated by adding 100, in reverse order; one reading of six looks at the right
    # ones, the others at a fixed place.
    model = load_model(read_bundle(tiny_bundle))
    sources = [[5, 6, 7], [8, 5], [6, 8, 7, 5]]
    targets = [[piece + 100 for piece in reversed(source)] for source in sources]

    def fake(
        _: object, __: object, ___: object, readings: list[AlignmentSetting]
    ) -> list[torch.Tensor]:
        return [seen(reading) for reading in readings]

    def seen(reading: AlignmentSetting) -> torch.Tensor:
        weights = torch.zeros(3, 4, 5)
        if reading != AlignmentSetting(2, at_input=True):
            weights[:, :, 0] = 1
            return weights
        for row, source in enumerate(sources):
            for place in range(len(source)):
                weights[row, place, len(source) - 1 - place] = 1
        return weights

    monkeypatch.setattr(extract, "cross_attentions", fake)
    assert choose_setting(model, sources, targets) == AlignmentSetting(2, at_input=True)


def test_reading_of_a_real_model_is_one_of_its_own(tiny_bundle: Path) -> None:
    model = load_model(read_bundle(tiny_bundle))
    chosen = choose_setting(model, [[5, 6, 7], [8]], [[11], [12, 13, 14]])
    assert chosen.layer in range(3)
