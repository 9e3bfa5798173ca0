"""The parts of a sweep: grids, names, slots, cards, groups; with small processes as runs."""

import signal
import statistics
import subprocess
import sys
import threading
import time
from importlib.util import find_spec
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from jumok.cli.scale.grid import Combination, read_grid, run_name, split_values
from jumok.cli.scale.progress import LiveSweepScreen, PlainSweepScreen, ended_by, latest
from jumok.cli.scale.ray_workers import STOPPED, RayWorkers, stop_file, train_in_task
from jumok.cli.scale.resources import bytes_of_run, cards_here, usual_jobs
from jumok.cli.scale.results import RunResult, groups_of
from jumok.cli.scale.running import run_all
from jumok.cli.scale.sweep_folder import LOGS, RUNS, SweepFolder
from jumok.cli.scale.workers import LocalWorkers
from jumok.cli.verbs.scale.sweep import _commands
from jumok.config import parse_config
from jumok.errors import DataError, MissingExtraError
from jumok.systems.device import cores

CONFIG = parse_config({"name": "a", "data": {"smallworld": {}}})


def combination(number: int) -> Combination:
    return Combination(f"seed-{number}", {"seed": str(number)}, CONFIG)


@pytest.fixture
def folder(tmp_path: Path) -> SweepFolder:
    for part in (LOGS, RUNS, "done"):
        (tmp_path / part).mkdir()
    return SweepFolder(tmp_path)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("1,2, 3", ["1", "2", "3"]),
        ("[0.9,0.98],[0.9,0.99]", ["[0.9,0.98]", "[0.9,0.99]"]),
        ('"a,b",c', ['"a,b"', "c"]),
        ("{a = [1, 2], b = 3}", ["{a = [1, 2], b = 3}"]),
        ("", [""]),
    ],
)
def test_commas_inside_of_brackets_and_quotes_divide_nothing(text, values):
    assert split_values(text) == values


def test_keys_keep_their_order():
    assert list(read_grid(["b=1,2", "a=3"]).items()) == [("b", ["1", "2"]), ("a", ["3"])]


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


def at_most_two(folder: SweepFolder, code: str, count: int):
    """Runs `code` for each of `count` combinations, two at once."""
    screen = PlainSweepScreen(Console(file=StringIO()), folder, count, "loss")
    wanted = [combination(number) for number in range(count)]

    def command(one: Combination, slot: int):
        words = [sys.executable, "-c", code, one.name, str(folder.path)]
        return words, {"SLOT": str(slot)}

    return run_all(wanted, folder, LocalWorkers(), command, 2, screen)


def test_two_slots_never_hold_more_than_two_runs(folder):
    # A slot's folder exists while its run is alive: a second run in it would fail.
    code = (
        "import os, sys, time\n"
        "slot = os.path.join(sys.argv[2], 'slot' + os.environ['SLOT'])\n"
        "os.mkdir(slot); time.sleep(0.05); os.rmdir(slot)\n"
        "print('{\"steps\": 3}')"
    )
    ended = at_most_two(folder, code, 5)
    assert (ended.failures, ended.signal, ended.left) == ([], None, 0)
    assert all(folder.result(f"seed-{number}") == {"steps": 3} for number in range(5))
    assert sorted(path.name for path in folder.path.glob("slot*")) == []


def test_failures_are_told_apart(folder):
    code = (
        "import os, sys, signal\n"
        "print('one line', flush=True)\n"
        "number = int(sys.argv[1][-1])\n"
        "if number == 1: os.kill(os.getpid(), signal.SIGKILL)\n"
        "if number == 2: sys.exit('error: no such file\\n  do: look for it')\n"
        "print('{}')"
    )
    ended = at_most_two(folder, code, 3)
    assert folder.is_finished("seed-0")
    found = {each.name: (ended_by(each.code), each.last) for each in ended.failures}
    assert found == {
        "seed-1": ("SIGKILL", "one line"),
        "seed-2": ("exit code 1", "error: no such file"),
    }
    assert not folder.is_finished("seed-1")


def test_a_signal_reaches_every_run_once(folder):
    code = (
        "import os, sys, signal, time\n"
        "got = []\n"
        "signal.signal(signal.SIGINT, lambda *_: got.append(1))\n"
        "open(os.path.join(sys.argv[2], sys.argv[1]), 'w').close()\n"
        "while not got: time.sleep(0.01)\n"
        "time.sleep(0.2)\n"
        "print(len(got), 'signals'); sys.exit(130)"
    )

    def interrupt() -> None:
        until = time.monotonic() + 60
        while len(list(folder.path.glob("seed-*"))) < 2 and time.monotonic() < until:
            time.sleep(0.01)
        signal.raise_signal(signal.SIGTERM)

    sender = threading.Thread(target=interrupt)
    sender.start()
    ended = at_most_two(folder, code, 4)
    sender.join()
    assert ended.signal == signal.SIGTERM
    assert ended.left == 4
    assert ended.failures == []
    assert folder.log("seed-0").read_text() == folder.log("seed-1").read_text() == "1 signals\n"
    assert not folder.log("seed-2").exists()


def test_a_run_that_has_begun_is_resumed_on_the_card_of_its_slot(folder, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3,5")
    assert cards_here("auto") == ["3", "5"]
    assert cards_here("cpu") == []
    command = _commands(folder, 4, cards_here("auto"))
    words, variables = command(combination(1), 1)
    assert words[-3:] == ["--runs", str(folder.runs), "--json"]
    assert variables == {"JUMOK_THREADS": "4", "CUDA_VISIBLE_DEVICES": "5"}
    (folder.run("seed-1")).mkdir()
    (folder.run("seed-1") / "config.json").touch()
    assert command(combination(1), 0)[0][-1] == "--resume"


def test_cards_are_counted_by_the_driver(tmp_path, monkeypatch):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert cards_here("auto", tmp_path / "none") == []
    for name in ("0000:19:00.0", "0000:3b:00.0"):
        (tmp_path / name).mkdir()
    assert cards_here("auto", tmp_path) == ["0", "1"]


def test_memory_limits_the_number_of_runs(monkeypatch):
    wanted = [combination(number) for number in range(20)]
    assert usual_jobs(wanted, ["0", "1"]) == 2
    assert usual_jobs(wanted, []) <= cores()
    monkeypatch.setattr("jumok.models.size.memory", lambda: int(bytes_of_run(CONFIG)))
    assert usual_jobs(wanted, []) == 1


def result(dropout: str, seed: int, score: float | None) -> RunResult:
    values = {"model.dropout": dropout, "seed": str(seed)}
    return RunResult(f"{dropout}-{seed}", values, score, 1.0, 5, 0.1, "runs")


def test_groups_have_the_mean_and_the_spread_over_seeds():
    results = [result("0.1", 1, 30.0), result("0.2", 1, 33.0), result("0.1", 2, 34.0)]
    results += [result("0.3", 1, None), result("0.2", 2, 33.0)]
    best, other = groups_of(results, "bleu")
    assert (best.values, best.mean, best.spread) == ({"model.dropout": "0.2"}, 33.0, 0.0)
    assert (other.mean, other.spread, other.best) == (32.0, statistics.stdev([30, 34]), "0.1-2")
    assert [group.mean for group in groups_of(results, "loss")] == [32.0, 33.0]
    assert groups_of(results, "loss")[0].best == "0.1-1"
    (alone,) = groups_of(results[:1], "bleu")
    assert alone.spread is None


def test_last_records_are_read_from_the_end_of_a_log(tmp_path):
    log = tmp_path / "log.jsonl"
    assert latest(log) == {}
    records = [f'{{"kind": "step", "step": {n}, "loss": {n}.5}}\n' for n in range(1000)]
    log.write_text("".join([*records, '{"kind": "validation", "bleu": 3.5, "loss": null}\n{"k']))
    assert latest(log) == {"step": 999, "loss": 999.5, "bleu": 3.5}


def test_a_terminal_shows_a_bar_for_each_run(folder):
    console = Console(file=StringIO(), force_terminal=True, width=100)
    screen = LiveSweepScreen(console, folder, 2, "bleu")
    screen.begin("seed-1", 1)
    folder.run("seed-1").mkdir()
    line = '{"kind": "step", "step": 5, "share": 0.25, "loss": 2.5}\n'
    (folder.run("seed-1") / "log.jsonl").write_text(line)
    screen._shown = float("-inf")
    screen.look(["seed-1"])
    screen.end("seed-1", None)
    screen.close()
    text = console.file.getvalue()
    assert "started 1/2: seed-1" in text
    assert " 25%" in text
    assert "loss 2.500" in text
    assert "finished: seed-1" in text


def test_a_minute_passes_with_one_line(folder):
    times = iter([0.0, 59.0, 61.0, 61.0])
    console = Console(file=StringIO(), width=100)
    screen = PlainSweepScreen(console, folder, 2, "loss", lambda: next(times))
    screen.look(["seed-1"])
    screen.look(["seed-1"])
    assert console.file.getvalue() == "running: seed-1 0%\n"


def test_a_damaged_result_is_refused(folder):
    (folder.path / "done/seed-1.json").write_text("{")
    with pytest.raises(DataError, match="remove the file, and sweep again with --resume"):
        folder.result("seed-1")


def test_a_task_of_ray_passes_on_how_its_run_ends(tmp_path):
    log = tmp_path / "seed-1.txt"
    code = "import os, sys; print(os.environ['COLOUR']); sys.exit(3)"
    assert train_in_task([sys.executable, "-c", code], {"COLOUR": "blue"}, str(log)) == 3
    assert log.read_text() == "blue\n"


def test_a_task_of_ray_stops_its_run_with_a_checkpoint(tmp_path):
    log = tmp_path / "seed-1.txt"
    code = (
        "import signal, sys, time\n"
        "signal.signal(signal.SIGTERM, lambda *_: sys.exit('saved'))\n"
        "open(sys.argv[1], 'w').close()\n"
        "time.sleep(60)"
    )
    command = [sys.executable, "-c", code, str(stop_file(log))]  # which is there once it listens
    assert train_in_task(command, {}, str(log)) == 1
    assert log.read_text() == "saved\n"
    # A task that starts later than that starts nothing.
    assert train_in_task(command, {}, str(log)) == STOPPED
    assert log.read_text() == "saved\n"


def test_ray_is_an_extra():
    if find_spec("ray") is None:
        with pytest.raises(MissingExtraError, match=r"--workers ray needs the extra 'ray'"):
            RayWorkers(1, 0)


def test_a_run_hears_when_the_sweep_is_killed(tmp_path):
    """Its input is a pipe that nothing is written to, which ends with the process that holds it."""
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "from jumok.cli.scale.workers import LocalWorkers\n"
        'listen = \'import os; os.read(0, 1); print(os.environ["JUMOK_LEASH"], "ended")\'\n'
        "run = LocalWorkers().start([sys.executable, '-c', listen], {}, Path(sys.argv[1]))\n"
        "import os, signal\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    log = tmp_path / "log.txt"
    subprocess.run([sys.executable, "-c", code, str(log)], check=False, timeout=60)
    until = time.monotonic() + 60
    while log.read_text() != "1 ended\n" and time.monotonic() < until:
        time.sleep(0.02)
    assert log.read_text() == "1 ended\n"
