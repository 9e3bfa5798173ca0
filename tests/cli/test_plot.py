"""`jumok plot`: learning curves of runs."""

import csv
import json
from functools import partial
from pathlib import Path

import pytest

import jumok
from jumok.data.files.run_log import run_log
from jumok.errors import ConfigError, DataError
from tests.cli.calls import call

plot = partial(call, "plot")


def write_run(folder: Path, bleu: float) -> Path:
    folder.mkdir()
    records = [
        {"kind": "step", "step": 20, "loss": 5.5, "seconds": 30.0},
        {"kind": "validation", "step": 30, "loss": 4.0, "best": True, "seconds": 60.0, "bleu": 1.0},
        {"kind": "step", "step": 40, "loss": None, "seconds": 90.0},
        {"kind": "validation", "step": 60, "loss": 2.0, "best": True, "seconds": 120, "bleu": bleu},
        {"kind": "validation", "step": 90, "loss": 2.5, "best": False, "seconds": 180, "bleu": 2.0},
    ]
    (folder / "log.jsonl").write_text("".join(json.dumps(each) + "\n" for each in records))
    return folder


@pytest.fixture
def runs(tmp_path: Path) -> list[Path]:
    return [write_run(tmp_path / "short", 20.0), write_run(tmp_path / "long", 40.0)]


def test_the_curves_are_those_of_the_log(runs: list[Path]) -> None:
    figure = jumok.plot.curves(*runs, over="minutes")
    loss, bleu = figure.axes
    assert [list(line.get_xdata()) for line in loss.lines[:2]] == [[0.5], [1.0, 2.0, 3.0]]
    assert [list(line.get_ydata()) for line in loss.lines[:2]] == [[5.5], [4.0, 2.0, 2.5]]
    assert [list(line.get_ydata()) for line in bleu.lines] == [[1.0, 20.0, 2.0], [1.0, 40.0, 2.0]]
    assert bleu.get_title(loc="left") == "validation BLEU"
    legend = [text.get_text() for text in loss.get_legend().get_texts()]
    assert legend == ["short", "long", "training", "kept"]
    rings = [tuple(each.get_offsets()[0]) for each in bleu.collections]
    assert rings == [(2.0, 20.0), (2.0, 40.0)], "the best validation, not the last"
    assert {axes.get_ylim()[0] for axes in (loss, bleu)} == {0.0}


def test_the_figure_is_written_and_the_best_scores_are_printed(runs, tmp_path):
    done = plot(*runs, "--to", tmp_path / "a.svg")
    assert done.exit_code == 0, done.output
    assert "<svg" in (tmp_path / "a.svg").read_text()
    rows = [line.split() for line in done.stdout.splitlines()]
    assert rows[0] == ["run", "steps", "minutes", "best", "at", "loss", "scores"]
    assert rows[1] == ["short", "90", "3.0", "60", "2.000", "BLEU", "20.00"]
    assert rows[2] == ["long", "90", "3.0", "60", "2.000", "BLEU", "40.00"]


def test_numbers_go_into_a_table(runs: list[Path], tmp_path: Path) -> None:
    assert plot(runs[0], "--to", tmp_path / "a.csv").exit_code == 0
    rows = list(csv.reader((tmp_path / "a.csv").open()))
    assert rows[0] == ["run", "kind", "step", "minutes", "name", "value"]
    assert rows[1] == ["short", "training", "20", "0.5", "loss", "5.5"]
    assert ["short", "validation", "60", "2.0", "bleu", "20.0"] in rows
    assert len(rows) == 1 + 1 + 6, "a loss that was not finite has no row"


def test_what_is_no_run_is_told(runs: list[Path], tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    error = plot(runs[0], tmp_path / "empty").exception
    assert isinstance(error, DataError)
    assert f"{tmp_path}/empty: there is no log of a run" in str(error)
    (tmp_path / "empty" / "log.jsonl").write_text("")
    with pytest.raises(DataError, match="the run has not logged a step yet"):
        run_log(tmp_path / "empty")
    error = plot(runs[0], "--to", tmp_path / "a.html").exception
    assert isinstance(error, ConfigError)
    assert "expected: .svg .pdf .png .csv" in str(error)
