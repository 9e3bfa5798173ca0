"""`jumok sweep`: real runs of a tiny model, and what is refused before any of them."""

import csv
import json
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

import pytest

from jumok.cli.study import SearchSpace, enqueue, open_study, parse_grid, run_name
from jumok.cli.verbs.scale.sweep import cards_here, jobs_here
from jumok.errors import ConfigError
from jumok.systems.device import cores
from tests.cli.calls import call

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
    return call("sweep", "recipe.toml", *arguments)


def test_a_failed_run_ends_no_other_and_is_repeated_alone(recipe, tmp_path):
    grid = ["--grid", "training.learning_rate=1e-3,1e30", "seed=1", "--output", "out"]
    quick = ["--jobs", "2", "--threads", "1"]
    done = sweep(*grid, *quick)
    assert done.exit_code == 1, done.output
    log = tmp_path / "out/logs/learning_rate-1e30-seed-1.txt"
    assert "FAILED: learning_rate-1e30-seed-1 (exit code 2): error: the loss or its" in done.stderr
    assert "failed: learning_rate-1e30-seed-1\nout has everything." in done.stderr
    assert "training has diverged" in log.read_text()
    rows = [line.split() for line in done.stdout.splitlines()]
    assert rows[0] == ["training.learning_rate", "loss", "spread", "runs", "best", "run"]
    assert rows[1][0] == "1e-3"
    assert rows[1][2:] == ["-", "1", "learning_rate-1e-3-seed-1"]

    # The numbers are those of the run's own log.
    score = best_loss(tmp_path / "out/runs/learning_rate-1e-3-seed-1")
    with (tmp_path / "out/results.csv").open() as file:
        (row,) = csv.DictReader(file)
    assert (row["training.learning_rate"], float(row["loss"])) == ("1e-3", score)

    # Finished runs are not repeated, and the grid may have other values of the same keys.
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "out/runs").glob("*/log.jsonl")}
    grid[1:3] = ["training.learning_rate=1e-3", "seed=1,2"]
    again = sweep(*grid, *quick, "--resume")
    assert again.exit_code == 0, again.output
    assert "1 runs in out" in again.stderr
    other = best_loss(tmp_path / "out/runs/learning_rate-1e-3-seed-2")
    mean, spread = statistics.fmean([score, other]), statistics.stdev([score, other])
    best = f"learning_rate-1e-3-seed-{1 if score < other else 2}"
    expected = ["1e-3", f"{mean:.3f}", f"{spread:.3f}", "2", best]
    assert again.stdout.splitlines()[1].split() == expected
    assert {path: path.stat().st_mtime_ns for path in before} == before


def test_values_are_drawn_and_those_of_a_resumed_sweep_are_others(recipe, tmp_path, monkeypatch):
    monkeypatch.setenv("JUMOK_RUNS", "elsewhere")
    drawn = ["training.learning_rate=log:1e-4..1e-2", "seed=1..99", "model.layers=1,2"]
    drawn += ["--set", "training.steps=2", "--threads", "1", "--jobs", "2"]
    assert sweep("--grid", *drawn, "--trials", "2").exit_code == 0
    done = sweep("--grid", *drawn, "--trials", "3", "--resume")
    assert done.exit_code == 0, done.output
    with (tmp_path / "elsewhere/recipe-sweep/results.csv").open() as file:
        rows = list(csv.DictReader(file))
    rates = [float(row["training.learning_rate"]) for row in rows]
    assert len(set(rates)) == len(rows) == 3
    assert all(1e-4 <= rate <= 1e-2 for rate in rates)
    assert all(1 <= int(row["seed"]) <= 99 for row in rows)
    drawn[2] += ",3"
    other = ["--grid", *drawn, "--trials", "4", "--resume"]
    assert_refused(other, "a list, or its key, was another one before")


def best_loss(run: Path) -> float:
    records = [json.loads(line) for line in (run / "log.jsonl").read_text().splitlines()]
    return next(each["loss"] for each in reversed(records) if each.get("best"))


def test_ctrl_c_stops_runs_with_their_checkpoints_and_resume_continues(recipe, tmp_path):
    command = [sys.executable, "-m", "jumok", "sweep", "recipe.toml", "--grid", "seed=1,2,3"]
    command += ["--jobs", "1", "--threads", "1", "--output", "out"]
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
    assert "jumok sweep recipe.toml --grid seed=1,2,3" in said
    assert said.rstrip().endswith("--resume")
    assert list((tmp_path / "out/runs/seed-1").glob("checkpoint*.safetensors"))
    assert not (tmp_path / "out/runs/seed-2").exists()
    stopped = json.loads(log.read_text().splitlines()[-1])["step"]
    assert 0 < stopped < 1_000_000
    assert "stopped at step" in (tmp_path / "out/logs/seed-1.txt").read_text()


def test_another_sweep_in_the_folder_is_refused(recipe, tmp_path):
    space = SearchSpace(Path("recipe.toml"), (), {"seed": ["1"]})
    open_study(tmp_path / "out", space, "loss", False)
    again = ["--output", "out", "--resume", "--grid"]
    assert_refused([*again, "model.dropout=0.1"], r"another sweep.*\n.*'seed'.*\n.*'model.dropout'")
    assert_refused([*again, "seed=1", "--set", "model.dropout=0.1"], r"set \[\].*\n.*dropout=0.1")
    assert_refused(["--output", "out", "--grid", "seed=1"], "not empty.*\n  do:.*--resume")
    (tmp_path / "recipe.toml").write_text(RECIPE + "\n")
    assert_refused([*again, "seed=1"], "another sweep")
    (tmp_path / "out/study.jsonl").write_text("{")
    assert_refused([*again, "seed=1"], "the study of the sweep, study.jsonl, is damaged")
    (tmp_path / "other").mkdir()
    (tmp_path / "other/mine.txt").write_text("mine")
    assert_refused(["--output", "other", "--grid", "seed=1"], "the folder is not empty")
    assert_refused(["--output", "none", "--resume", "--grid", "seed=1"], "no sweep to resume")


def test_what_did_not_end_is_tried_again(recipe, tmp_path):
    """A trial that is running is one of a sweep that was killed."""
    space = SearchSpace(Path("recipe.toml"), (), {"seed": ["1"]})
    study = open_study(tmp_path / "out", space, "loss", False)
    wanted = [{"seed": "1"}, {"seed": "2"}, {"seed": "3"}]
    assert enqueue(study, wanted, 0) == 3
    study.tell(study.ask(), 1.0)
    study.ask()
    assert enqueue(study, wanted, 0) == 2  # the second anew, and the third
    assert enqueue(study, [], 9) == 8
    waiting = [each.user_attrs["values"] for each in study.trials if each.state.name == "WAITING"]
    assert waiting == [{"seed": "3"}, {"seed": "2"}]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], "the grid is empty, or a key has no values"),
        (["--grid", "seed"], "a key has no values.*\n.*\n  got:      seed"),
        (["--grid", "seed=1,,2"], "a value of seed is empty"),
        (["--grid", "seed="], "a value of seed is empty"),
        (["--grid", "seed=1", "seed=2"], "the grid has the key seed twice"),
        (["--grid", "name=a,b"], "a sweep names its runs itself"),
        (["--grid", "validation.metric=bleu,chrf"], "several metrics cannot be compared"),
        (["--grid", "model.dropuot=0.1"], "model.dropuot: unknown key; did you mean 'dropout'"),
        (["--grid", "model.layers=1,two"], r"model.layers: .*valid integer.*\(got 'two'\)"),
        (["--grid", "seed=1,1"], "seed has a value twice"),
        (["--grid", "seed=" + ",".join(map(str, range(10_001)))], "too many combinations: 10,001"),
        (["--grid", "seed=1..3"], r"numbers between two ends\.\n  do:       add --trials N"),
        (["--grid", "seed=3..1", "--trials", "2"], "a range ends above its beginning"),
        (["--grid", "seed=log:0..1", "--trials", "2"], "with log: begins above 0"),
        (["--grid", "model.dropout=0.1..2.0", "--trials", "2"], "model.dropout: "),
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


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("1,2, 3", ["1", "2", "3"]),
        ("[0.9,0.98],[0.9,0.99]", ["[0.9,0.98]", "[0.9,0.99]"]),
        ('"a,b",c', ['"a,b"', "c"]),
        ("{a = [1, 2], b = 3}", ["{a = [1, 2], b = 3}"]),
    ],
)
def test_commas_inside_of_brackets_and_quotes_divide_nothing(text, values):
    assert parse_grid([f"b={text}", "a=3"]) == {"b": values, "a": ["3"]}


def test_runs_are_named_by_their_values():
    assert run_name({"model.dropout": "0.1", "seed": "3"}) == "dropout-0.1-seed-3"
    both = {"model.encoder.dim": "8", "model.decoder.dim": "9"}
    assert run_name(both) == "model.encoder.dim-8-model.decoder.dim-9"
    lists = [run_name({"training.betas": f"[0.9,{last}]"}) for last in (0.98, 0.99)]
    assert lists[0].startswith("betas-0.9-0.98-")
    assert lists[0] != lists[1]
    assert len(run_name({f"key{n}": "value" for n in range(40)})) <= 90
    # Two values that lose the same letters are still two runs.
    assert run_name({"a": "x y"}) != run_name({"a": "x/y"})


def test_cards_are_those_that_are_visible(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3,5")
    assert cards_here("auto") == cards_here("cuda") == ["3", "5"]
    assert cards_here("cpu") == cards_here("cuda:1") == []
    assert [jobs_here("cuda", ["3", "5"]), jobs_here("cuda:1", [])] == [2, 1]
    assert jobs_here("cpu", []) == cores()
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert cards_here("auto") == []


def test_a_run_gets_the_card_of_its_slot_and_ends_with_the_sweep(recipe, tmp_path):
    """The input of a run is a pipe that nothing is written to: it ends when the sweep is killed."""
    code = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "from jumok.cli import study\n"
        "card = 'os.environ[\"CUDA_VISIBLE_DEVICES\"]'\n"
        "listen = f'import os; os.read(0, 1); print({card}, \"ended\")'\n"
        "start = study.subprocess.Popen\n"
        "def popen(words, **options):\n"
        "    process = start([sys.executable, '-c', listen], **options)\n"
        "    os.kill(os.getpid(), 9)\n"
        "study.subprocess.Popen = popen\n"
        "folder = Path(sys.argv[1])\n"
        "space = study.SearchSpace(Path('recipe.toml'), (), {'seed': ['1']})\n"
        "runs = study.StudyRuns(folder, space, 'loss', 1, ['3', '5'])\n"
        "runs._train('a', {'seed': '1'}, 1, folder / 'a.txt')"
    )
    (tmp_path / "recipes").mkdir()
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False, timeout=DEADLINE)
    log, until = tmp_path / "a.txt", time.monotonic() + DEADLINE
    while log.read_text() != "5 ended\n" and time.monotonic() < until:
        time.sleep(0.02)
    assert log.read_text() == "5 ended\n"
