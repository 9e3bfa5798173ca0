"""The script that shows whether a verdict flips with other seeds."""

import json
import shutil
import sys
from pathlib import Path

import pytest

from benchmarks import labs
from jumok.environment import LANGUAGES
from jumok.errors import DataError
from jumok_lectures import report
from jumok_lectures.catalog import LABS
from jumok_lectures.findings import outcome_of, verdict_of
from jumok_lectures.judging import INTERVAL, SEEDS, STATES

PUBLISHED = Path(__file__).parents[2] / "docs" / "lab"


VALUES = {"met": [0.8, 0.9, 0.85], "unmet": [0.1, 0.2, 0.15], "open": [0.1, 0.9, 0.8]}


def facts(outcome: str | None, *states: str) -> report.LabRecord:
    names = {"en": "condition", "ko": "조건"}
    verdict = verdict_of(states)
    return {
        "outcome": outcome,
        "conditions": [
            {
                "name": f"condition {n}",
                "values": VALUES[state],
                "bound": 0.5,
                "above": True,
                "state": state,
            }
            for n, state in enumerate(states)
        ],
        "text": {
            language: {
                "verdict": f"{verdict.of(language)} It is so.",
                "conditions": [
                    [],
                    [[f"{name} {n}", STATES[state].of(language)] for n, state in enumerate(states)],
                ],
            }
            for language, name in names.items()
        },
    }


def test_a_condition_that_differs_is_undecided_and_the_verdict_with_it() -> None:
    first = facts("partly", "met", "unmet")
    found = labs.by_seeds("coreference", first, facts("holds", "met", "met"))
    record = report.settled(first, found)
    assert [each["state"] for each in record["conditions"]] == ["met", "open"]
    assert record["outcome"] == "partly"
    assert record["text"]["ko"]["conditions"][1] == [["조건 0", "충족"], ["조건 1", SEEDS.ko]]
    again = report.settled(
        record, labs.by_seeds("coreference", record, facts("open", "open", "open"))
    )
    assert again["outcome"] == "open"
    decided = "These seeds do not decide whether the claim holds. Both conditions are undecided."
    assert again["text"]["en"]["verdict"] == f"{decided} It is so."
    # What the seeds themselves say is not lost: the next comparison reads their values.
    assert labs.by_seeds("coreference", again, facts("partly", "met", "unmet"))["differ"] == []


FURTHER = json.loads((PUBLISHED / report.FURTHER).read_text("utf-8"))


def test_every_lab_is_published_with_further_seeds() -> None:
    assert [each["lab"] for each in FURTHER["labs"]] == [lab.name for lab in LABS]
    assert all(len(each["outcomes"]) >= 2 for each in FURTHER["labs"])


@pytest.mark.parametrize("by_seeds", FURTHER["labs"], ids=lambda each: each["lab"])
def test_what_is_published_is_undecided_where_seeds_differ(by_seeds: report.LabBySeeds) -> None:
    record = json.loads((PUBLISHED / f"{by_seeds['lab']}.json").read_text("utf-8"))
    differ = {each["name"]["en"] for each in by_seeds["differ"]}
    for each in record["conditions"]:
        assert each["state"] == ("open" if each["name"] in differ else labs.state_of(each))
    assert by_seeds["conditions"] == len(record["conditions"])
    assert record["outcome"] == outcome_of([each["state"] for each in record["conditions"]])
    for language in LANGUAGES:
        text = record["text"][language]
        shown = [row[-1] for row in text["conditions"][1]]
        reasons = [
            INTERVAL if labs.state_of(each) == "open" else SEEDS if each["name"] in differ else None
            for each in record["conditions"]
        ]
        assert shown == [
            (reason or STATES[each["state"]]).of(language)
            for reason, each in zip(reasons, record["conditions"], strict=True)
        ]
        said = verdict_of([each["state"] for each in record["conditions"]])
        assert text["verdict"].startswith(said.of(language))


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
    assert heading == "| 실험 | 시드 1–3 | 시드 4–6 | 결과와 판정이 같음 | 판정이 다른 조건 |"
    assert first == "| norm | 성립 | 일부 성립 | 아니요 | 1 / 2; 조건 1: 충족, 판단 불가 |"


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
    monkeypatch.setattr(sys, "argv", ["labs", "order", *arguments[2:]])
    labs.main()
    kept = json.loads((tmp_path / "1-3" / "further.json").read_text("utf-8"))
    assert [each["lab"] for each in kept["labs"]] == ["scale", "order"]
    monkeypatch.setattr(sys, "argv", ["labs", "order", "--seeds", "2", "--out", str(tmp_path)])
    (tmp_path / "1-2").mkdir()
    shutil.copy(tmp_path / "1-3" / "further.json", tmp_path / "1-2")
    with pytest.raises(SystemExit, match="other sets of seeds"):
        labs.main()
    (tmp_path / "1-3" / "further.json").write_text("[]")
    with pytest.raises(DataError, match="not a list of labs with further seeds"):
        report.page(tmp_path / "1-3", page, "en")
