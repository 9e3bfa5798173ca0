"""`jumok sweep`: real runs of a tiny model, and what is refused before any of them."""

import csv
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from jumok.cli.main import app
from jumok.errors import ConfigError

DEADLINE = 120
RECIPE = """
name = "tiny"
[data]
documents = "line"
[[data.train]]
file = "text.txt"
[model]
kind = "causal-lm"
dim = 8
heads = 2
layers = 1
feedforward = 16
max_length = 16
[training]
steps = 12
tokens_per_batch = 32
tokens_per_micro_batch = 32
precision = "fp32"
log_every = 2
schedule = { warmup = 2 }
[validation]
every = 6
"""


@pytest.fixture
def recipe(tmp_path: Path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "150")
    text = "".join(f"line {n} of a very small text\n" for n in range(40))
    (tmp_path / "text.txt").write_text(text)
    (tmp_path / "recipe.toml").write_text(RECIPE)
    return tmp_path / "recipe.toml"


def sweep(*arguments: object):
    words = ["sweep", "recipe.toml", *map(str, arguments)]
    return CliRunner().invoke(app, words)


def test_a_failed_run_ends_no_other_and_is_repeated_alone(recipe, tmp_path):
    grid = ["--grid", "training.learning_rate=1e-3,1e30", "seed=1", "--output", "out"]
    quick = ["--set", "training.steps=12", "--jobs", "2", "--threads", "1"]
    done = sweep(*grid, *quick)
    assert done.exit_code == 1, done.output
    log = tmp_path / "out/logs/learning_rate-1e30-seed-1.txt"
    assert "FAILED: learning_rate-1e30-seed-1 (exit code 2): error: the loss or its" in done.stderr
    assert f"failed: learning_rate-1e30-seed-1 (exit code 2): {Path('out/logs')}" in done.stderr
    assert "training has diverged" in log.read_text()
    rows = [line.split() for line in done.stdout.splitlines()]
    assert rows[0] == ["learning_rate", "loss", "spread", "runs", "best", "run"]
    assert rows[1][0] == "1e-3"
    assert rows[1][2:] == ["-", "1", "learning_rate-1e-3-seed-1"]

    # The numbers are those of the run's own log.
    found = json.loads((tmp_path / "out/results.json").read_text())
    score = best_loss(tmp_path / "out/runs/learning_rate-1e-3-seed-1")
    assert [group["scores"] for group in found["groups"]] == [[score]]
    with (tmp_path / "out/results.csv").open() as file:
        (row,) = csv.DictReader(file)
    assert (row["training.learning_rate"], float(row["loss"])) == ("1e-3", score)
    assert "<svg" in (tmp_path / "out/scores.svg").read_text()
    assert "<svg" in (tmp_path / "out/curves.svg").read_text()

    # Finished runs are not repeated, and the grid may have other values of the same keys.
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "out/runs").glob("*/log.jsonl")}
    grid[1] = "training.learning_rate=1e-3"
    again = sweep(*grid, *quick, "--resume", "--json", "--figure", "none")
    assert again.exit_code == 0, again.output
    assert len(json.loads(again.stdout.splitlines()[0])["runs"]) == 1
    assert {path: path.stat().st_mtime_ns for path in before} == before


def best_loss(run: Path) -> float:
    records = [json.loads(line) for line in (run / "log.jsonl").read_text().splitlines()]
    return next(each["loss"] for each in reversed(records) if each.get("best"))


def test_ctrl_c_stops_runs_with_their_checkpoints_and_resume_continues(recipe, tmp_path):
    command = [sys.executable, "-m", "jumok", "sweep", "recipe.toml", "--grid", "seed=1,2,3"]
    command += ["--jobs", "1", "--threads", "1", "--figure", "none", "--output", "out"]
    endless = ["--set", "training.steps=1000000", "--set", "validation.every=1000000"]
    running = subprocess.Popen(
        [*command, *endless], stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        log = tmp_path / "out/runs/seed-1/log.jsonl"
        until = time.monotonic() + DEADLINE
        while not (log.is_file() and log.stat().st_size) and time.monotonic() < until:
            assert running.poll() is None, running.communicate()
            time.sleep(0.1)
        running.send_signal(signal.SIGINT)
        _, said = running.communicate(timeout=DEADLINE)
    finally:
        running.kill()
    assert running.returncode == 128 + signal.SIGINT
    assert "3 runs are left." in said
    assert "jumok sweep recipe.toml --grid seed=1,2,3" in said
    assert said.rstrip().endswith("--resume")
    assert list((tmp_path / "out/runs/seed-1").glob("checkpoint*.safetensors"))
    assert not (tmp_path / "out/runs/seed-2").exists()
    stopped = json.loads(log.read_text().splitlines()[-1])["step"]
    assert 0 < stopped < 1_000_000
    assert "stopped at step" in (tmp_path / "out/logs/seed-1.txt").read_text()


def test_another_sweep_in_the_folder_is_refused(recipe, tmp_path):
    (tmp_path / "out").mkdir()
    known = {"recipe": "recipe.toml", "digest": "0", "set": [], "keys": ["seed"]}
    (tmp_path / "out/sweep.json").write_text(json.dumps(known))
    for arguments, expected in (
        (["seed=1"], r"another sweep:\n  the recipe recipe.toml has changed"),
        (["model.dropout=0.1"], r"keys was \['seed'\] and is now \['model.dropout'\]"),
        (["seed=1", "--set", "model.dropout=0.1"], r"set was \[\] and is now"),
    ):
        assert_refused(["--output", "out", "--resume", "--grid", *arguments], expected)
    (tmp_path / "out/sweep.json").write_text("{")
    assert_refused(["--output", "out", "--grid", "seed=1"], "description of the sweep is damaged")
    (tmp_path / "other").mkdir()
    (tmp_path / "other/mine.txt").write_text("mine")
    assert_refused(["--output", "other", "--grid", "seed=1"], "not that of a sweep, so nothing")
    assert_refused(["--output", "none", "--resume", "--grid", "seed=1"], "no sweep to resume")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], r"the grid is empty\.\n  expected: KEY=VALUE,VALUE"),
        (["--grid", "seed"], "a key of the grid has no values.*\n.*\n  got:      seed"),
        (["--grid", "seed=1,,2"], "a value of seed is empty"),
        (["--grid", "seed="], "a value of seed is empty"),
        (["--grid", "seed=1", "seed=2"], "the grid has the key seed twice"),
        (["--grid", "name=a,b"], "a sweep names its runs itself"),
        (["--grid", "model.dropuot=0.1"], "model.dropuot: unknown key; did you mean 'dropout'"),
        (["--grid", "model.layers=1,two"], r"model.layers: .*valid integer.*\(got 'two'\)"),
        (["--grid", "seed=1,1"], r"are the same run\.\n  got:      seed=1, and seed=1"),
        (["--grid", "model.dropout=0.1,0.10"], "model.dropout=0.1, and model.dropout=0.10"),
        (["--grid", "seed=" + ",".join(map(str, range(10_001)))], "at most 10,000"),
    ],
)
def test_grids_that_cannot_be_followed_are_refused(recipe, tmp_path, arguments, expected):
    assert_refused(arguments, expected)
    assert not (tmp_path / "runs").exists()


def assert_refused(arguments, expected):
    error = sweep(*arguments).exception
    assert isinstance(error, ConfigError)
    with pytest.raises(ConfigError, match=expected):
        raise error


def test_several_metrics_are_refused(recipe, tmp_path):
    (tmp_path / "recipe.toml").write_text('name = "a"\n[data.smallworld]\npairs = 100\n')
    assert_refused(
        ["--grid", "validation.metric=bleu,chrf"], "several metrics.*\n  got:      bleu, chrf"
    )


def test_the_folder_is_that_of_all_runs_unless_it_is_named(monkeypatch):
    from jumok.cli.verbs.scale.sweep import usual_folder

    monkeypatch.setenv("JUMOK_RUNS", "elsewhere")
    assert usual_folder(Path("a/recipe.toml")) == Path("elsewhere/recipe-sweep")
    assert os.environ["JUMOK_RUNS"] == "elsewhere"
