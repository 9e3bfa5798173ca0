"""The script that shows whether a verdict flips with other seeds."""

import sys
from pathlib import Path

import pytest

from benchmarks import labs
from jumok.errors import DataError
from jumok_lectures import report


def facts(outcome: str | None, *states: str) -> labs.Facts:
    names = {"en": "condition", "ko": "조건"}
    return {
        "outcome": outcome,
        "conditions": [{"state": state} for state in states],
        "text": {
            language: {"conditions": [[], [[f"{name} {n}"] for n in range(len(states))]]}
            for language, name in names.items()
        },
    }


def test_a_verdict_that_flips_is_named_with_its_conditions() -> None:
    found = labs.by_seeds("norm", facts("holds", "met", "met"), facts("partly", "met", "open"))
    differs = {"name": {"en": "condition 1", "ko": "조건 1"}, "states": ["met", "open"]}
    assert found["differ"] == [differs]
    kept = labs.by_seeds("errata", facts(None), facts(None))
    further: report.FurtherSeeds = {"seeds": [[1, 2, 3], [4, 5, 6]], "labs": [found, kept]}
    *_, first, second, _ = report.further_table(further, "en")
    assert first == "| norm | holds | in part | no | 1 / 2; condition 1: met, undecided |"
    assert second == "| errata |  |  | yes | 0 / 0 |"
    heading, _, first, _, _ = report.further_table(further, "ko")
    assert heading == "| 실험 | 시드 1–3 | 시드 4–6 | 같은가 | 상태가 다른 조건 |"
    assert first == "| norm | 성립 | 일부 성립 | 아니오 | 1 / 2; 조건 1: 충족, 판단 불가 |"


def test_labs_that_were_changed_have_a_third_set() -> None:
    found = labs.by_seeds(
        "heads", facts("holds", "met"), facts("holds", "met"), facts("open", "open")
    )
    assert found["differ"][0]["states"] == ["met", "met", "open"]
    kept = labs.by_seeds("norm", facts("holds", "met"), facts("holds", "met"))
    seeds = [[1, 2, 3], [4, 5, 6], [7, 8, 9]]
    _, _, first, second, _ = report.further_table({"seeds": seeds, "labs": [found, kept]}, "en")
    assert first == (
        "| heads | holds | holds | undecided | no | 1 / 1; condition 0: met, met, undecided |"
    )
    assert second == "| norm | holds | holds |  | yes | 0 / 1 |"


def test_a_lab_runs_with_two_sets_of_seeds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["labs", "scale", "--seeds", "3", "--threads", "1", "--out", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", arguments)
    labs.main()
    files = {str(file.relative_to(tmp_path)) for file in tmp_path.glob("*/*.json")}
    assert files == {"1-3/scale.json", "1-3/further.json", "4-6/scale.json"}
    monkeypatch.setattr(sys, "argv", [*arguments, "--again", "scale"])
    labs.main()
    assert (tmp_path / "7-9" / "scale.json").is_file()
    monkeypatch.setattr(sys, "argv", arguments)
    labs.main()
    line = "| scale | holds | holds | yes | 0 / 2 |"
    assert line in capsys.readouterr().out.splitlines()
    for language, heading in (("en", "## Further seeds"), ("ko", "## 다른 시드")):
        page = tmp_path / f"{language}.md"
        report.page(tmp_path / "1-3", page, language)
        written = page.read_text("utf-8").splitlines()
        assert heading in written
    assert "| scale | 성립 | 성립 | 예 | 0 / 2 |" in written
    (tmp_path / "1-3" / "further.json").write_text("[]")
    with pytest.raises(DataError, match="not a list of labs with further seeds"):
        report.page(tmp_path / "1-3", page, "en")
