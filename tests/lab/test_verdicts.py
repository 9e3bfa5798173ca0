"""The script that shows whether a verdict flips with other seeds."""

import sys
from pathlib import Path

import pytest

from benchmarks import labs


def facts(outcome: str | None, *states: str) -> labs.Facts:
    conditions = [{"name": f"condition {n}", "state": state} for n, state in enumerate(states)]
    return {"outcome": outcome, "conditions": conditions}


def test_a_verdict_that_flips_is_named_with_its_conditions() -> None:
    found = labs.row("norm", facts("holds", "met", "met"), facts("partly", "met", "open"))
    assert found == ["norm", "holds", "partly", "yes", "met, met", "condition 1"]
    kept = labs.row("errata", facts(None), facts(None))
    assert kept == ["errata", "no claim", "no claim", "no", "", "none"]


def test_a_lab_runs_with_two_sets_of_seeds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["labs", "scale", "--seeds", "3", "--threads", "1", "--out", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", arguments)
    labs.main()
    assert {file.name for file in tmp_path.glob("*.json")} == {"scale-1-3.json", "scale-4-6.json"}
    lines = capsys.readouterr().out.splitlines()
    assert "| scale | holds | holds | no | met, met | none |" in lines
    assert any("seeds 4 to 6" in line for line in lines)
