"""The sentences of the labs for every value that can occur: the same, zero, one, undecided."""

import json
from collections.abc import Sequence

import pytest

from jumok_lectures.experiments import parallel, positions
from jumok_lectures.experiments.parallel import grown
from jumok_lectures.findings import Findings, cell_text, verdict_of
from jumok_lectures.judging import (
    INTERVAL,
    SEEDS,
    Condition,
    compared,
    in_words,
    number,
    with_interval,
)
from jumok_lectures.puzzle import Solved
from jumok_lectures.text import Text, same
from jumok_lectures.texts import filled
from jumok_lectures.vectors.position_wise import elsewhere
from jumok_lectures.vectors.rotation import found_by
from tests.jumok_lectures.test_verdicts import PUBLISHED


@pytest.mark.parametrize(
    ("states", "english", "korean"),
    [
        (["met"], "Its only condition is met.", "조건 1개를 충족합니다."),
        (["unmet"], "Its only condition is not met.", "조건 1개를 충족하지 않습니다."),
        (["open"], "Its only condition is undecided.", "조건 1개가 판단 불가입니다."),
        (["met"] * 2, "Both conditions are met.", "조건 2개를 모두 충족합니다."),
        (["met"] * 3, "All 3 conditions are met.", "조건 3개를 모두 충족합니다."),
        (
            ["unmet"] * 2,
            "None of the 2 conditions is met.",
            "조건 2개 가운데 하나도 충족하지 않습니다.",
        ),
        (
            ["open"] * 2,
            "Both conditions are undecided.",
            "조건 2개가 모두 판단 불가입니다.",
        ),
        (
            ["met", "unmet", "met"],
            "Conditions: 2 met and 1 not met.",
            "조건 3개 가운데 2개는 충족, 1개는 미충족입니다.",
        ),
        (
            ["met", "open", "unmet", "open"],
            "Conditions: 1 met, 2 undecided and 1 not met.",
            "조건 4개 가운데 1개는 충족, 2개는 판단 불가, 1개는 미충족입니다.",
        ),
    ],
)
def test_a_verdict_counts_its_conditions(states: Sequence[str], english: str, korean: str) -> None:
    said = verdict_of(states)
    assert said.en.endswith(f". {english}")
    assert said.ko.endswith(f". {korean}")


def test_a_lab_without_conditions_has_no_verdict() -> None:
    assert verdict_of([]) == Text("", "")


def test_an_undecided_condition_has_its_reason() -> None:
    condition = Condition(same("a"), [0.1, 0.9, 0.8], 0.5)
    _, [row] = Findings((), (), {}, [condition], same("s"), ()).judged("en")
    assert row == ["a", "0.60 ± 1.08", "0.10 … 0.90", "> 0.50", INTERVAL.en]
    record = json.loads((PUBLISHED / "coreference.json").read_text("utf-8"))
    for language in ("en", "ko"):
        shown = {row[-1] for row in record["text"][language]["conditions"][1]}
        assert shown == {SEEDS.of(language)}


def test_a_difference_of_shares_is_in_percentage_points() -> None:
    condition = Condition(same("a"), [0.1, 0.2, 0.3], 0.1, form=".0points")
    _, [row] = Findings((), (), {}, [condition], same("s"), ()).judged("en")
    assert row[1:4] == ["20 ± 25", "10 … 30", "> 10"]
    assert filled({"en": "{x:.0points}", "ko": "{x:.0points}"}, {"x": 0.25}) == same("25")


def test_zero_has_no_power_of_ten_and_no_minus() -> None:
    assert number(0.0, ".1e") == cell_text(0.0, ".1e", "en") == "0"
    assert number(2e-7, ".0e") == "2e-07"
    assert number(-0.003, ".2f") == "0.00"
    assert number(-0.003, ".0%") == "0%"
    assert number(-0.003, "+.2f") == "+0.00"
    assert number(-0.02, ".2f") == "-0.02"
    assert with_interval([1e-3, 1e-3], ".0e") == "1e-03 ± 0"


def test_a_sentence_leaves_out_an_interval_that_rounds_to_zero() -> None:
    assert in_words([1.0, 1.0], ".0%") == "100%"
    assert in_words([0.998, 0.999, 0.998], ".0%") == "100%"
    assert in_words([0.9, 1.0], ".0%") == "95 ± 64%"
    assert in_words([0.25]) == "0.25"


@pytest.mark.parametrize(
    ("gains", "english", "korean"),
    [
        ([0.1, 0.2, 0.3], "20 ± 25% lower", "20 ± 25% 낮"),
        ([-0.1, -0.2, -0.3], "20 ± 25% higher", "20 ± 25% 높"),
        ([0.2, 0.2], "20% lower", "20% 낮"),
        (-0.2, "20% higher", "20% 높"),
        ([0.01, -0.01], "the same within 13%", "13% 안에서 같"),
        ([0.0, 0.0], "the same", "같"),
        (0.001, "the same", "같"),
    ],
)
def test_a_loss_is_lower_higher_or_the_same(
    gains: list[float] | float, english: str, korean: str
) -> None:
    assert compared(gains) == Text(english, korean)


def test_a_number_of_operations_grows_falls_or_stays() -> None:
    assert grown(42, 322) == Text("grows from 42 to 322", "42개에서 322개로 증가")
    assert grown(12, 12) == Text("stays at 12", "12개로 일정")
    assert grown(12, 11) == Text("falls from 12 to 11", "12개에서 11개로 감소")


def test_nothing_found_and_nothing_changed_have_words_of_their_own() -> None:
    assert found_by(0.0).en == "finds none of the shifted positions"
    assert found_by(0.004).en == "finds at most 0.4% of the shifted positions"
    assert found_by(0.004).ko == "옮긴 위치를 최대 0.4% 찾습니다"
    assert elsewhere(0.0).en == "leaves every other output unchanged"
    assert elsewhere(2e-7).en == "changes every other output by at most 2e-07"


def test_encodings_without_one_that_meets_all_requirements() -> None:
    lacking = positions.Wishes(apart=1.0, drift=0.5, largest=1.0, repeats=False)
    measured = dict.fromkeys(positions.KINDS, lacking)
    solved = {
        kind: [Solved(accuracy=(0.9, 0.5), losses=(), parameters=1)] for kind in positions.KINDS
    }
    sentence = positions.report(measured, solved).sentence
    assert "all four requirements: no encoding. Other encodings: index 90% → 50%" in sentence.en
    assert "네 조건을 모두 만족하는 인코딩: 없음." in sentence.ko
    assert sentence.en.endswith("Without positions: 90% → 50%.")


def test_the_published_chains_read_as_the_lab_writes_them() -> None:
    record = json.loads((PUBLISHED / "parallel.json").read_text("utf-8"))
    chains = record["figures"]["chains"]
    for name in ("gru", "attention"):
        words = parallel.grown(chains[name][0], chains[name][-1])
        for language in ("en", "ko"):
            assert words.of(language) in record["text"][language]["verdict"]
