"""Each slip against numbers from elsewhere: by hand, or by counting another way."""

import math
import os
import re
from pathlib import Path

import pytest
import torch

from jumok_lectures.experiments import errata
from jumok_lectures.findings import Setting
from jumok_lectures.slips import lecture_000, lecture_001, lecture_003, lecture_004, masking
from jumok_lectures.slips.slip import between, in_korean, numeral

NOTES = Path(os.environ.get("JUMOK_LECTURES", "../shared/lectures"))


def test_the_published_parameters_fit_heads_of_64() -> None:
    found = lecture_000.width_of_heads().figures
    # Attention of a layer: 4 matrices of 512 x 512 with biases; with 1024: 512 x 8192. 18 layers.
    wider = 18 * (4 * 512 * 8192 + 3 * 8192 + 512 - 4 * (512 * 512 + 512)) / 1e6
    assert found["millions with 1024"] - found["millions with 64"] == pytest.approx(wider, rel=1e-6)
    assert abs(found["millions with 64"] - 65.0) < 3.0


def test_the_notes_products_and_distances() -> None:
    assert lecture_003.product_and_distance([4.0, 5.0]) == (23.0, math.sqrt(8.0))
    assert lecture_003.product_and_distance([-5.0, 2.0])[0] == -4.0
    assert lecture_003.product_and_distance([40.0, 50.0]) == (230.0, math.sqrt(38**2 + 47**2))


def test_one_period_comes_near_itself_after_333_steps() -> None:
    places = torch.arange(400, dtype=torch.float64)
    codes = torch.stack([places.sin(), places.cos()], -1)
    # 44 steps are nearly 7 turns, and 333 even more nearly 53.
    assert lecture_001.nearest(codes) == pytest.approx(106 * math.pi - 333, rel=1e-3)


def test_a_mask_of_zeros_leaves_the_first_query_its_seven_future_keys() -> None:
    weights = masking.weights("zero", torch.Generator().manual_seed(3))
    assert weights[0, 1:].unique().numel() == 1
    assert float(weights[0].sum()) == pytest.approx(1.0)
    found = masking.readings((3,))
    assert found["zero"].share[0] > 0.2
    assert found["added"].share == [0.0]
    assert found["infinite"].told.en == "NaN"


def test_numbers_read_as_one_writes_them() -> None:
    assert numeral(math.nan) == "NaN"
    assert numeral(-math.inf) == "-∞"
    assert in_korean(347.2) == "3억 4,700만"
    assert between([0.1, 0.32], ".0%").en == "10% to 32%"
    assert between([0.1, 0.1], ".0%").ko == "10%"


def test_all_22_are_computed_to_differ_and_none_is_judged(tmp_path: Path) -> None:
    found = errata.run(Setting((1,), False, tmp_path))
    assert found.outcome is None
    slips = found.figures["slips"]
    assert len(slips) == 22
    assert [place for place, slip in slips.items() if not slip["differs"]] == []
    incomplete = [place for place, slip in slips.items() if slip["incomplete"]]
    assert incomplete == ["000:121", "001:82", "004:62, 57"]
    marked = [row[0] for row in found.rows if row[2].en.startswith("not wrong, but incomplete: ")]
    assert marked == incomplete
    assert "3 of these statements are incomplete rather than wrong" in found.sentence.en
    assert found.figures["concatenated positions"] < 1e-12
    if NOTES.is_dir():
        for place, slip in slips.items():
            note, line = place.split(",")[0].split(":")
            (file,) = NOTES.glob(f"{note}_*")
            text = file.read_text("utf-8").splitlines()[int(line) - 1]
            assert re.sub(r"\s+", " ", slip["quote"]) in re.sub(r"\s+", " ", text), place


def test_a_sentence_and_its_translation_differ_in_length() -> None:
    (share,) = lecture_004.lengths((1,)).figures["share of equal lengths"]
    assert 0.05 < share < 0.3
