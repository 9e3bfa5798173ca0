"""Records, and the places they go to."""

import io
import json
import math
from dataclasses import replace

import pytest
from rich.console import Console

from jumok.data.files.run_log import read_log
from jumok.errors import MissingExtraError
from jumok.training.log import (
    JsonLog,
    Log,
    StepRecord,
    TensorBoardLog,
    ValidationRecord,
    peak_memory,
)
from jumok.training.screen import LiveScreen, Pace, PlainScreen, clock, screen

STEP = StepRecord(
    step=20,
    share=0.25,
    loss=2.5,
    learning_rate=1e-3,
    gradient_norm=0.7,
    tokens=1000,
    source_tokens=900,
    seconds=10.0,
    step_seconds=8.0,
    cpu_seconds=7.0,
    skipped=0,
    unit="tokens",
    memory=123,
)
LATER = replace(STEP, step=40, share=0.5, tokens=5000, seconds=20.0, step_seconds=16.0)
VALIDATION = ValidationRecord(
    step=40, loss=1.75, figures={"BLEU": 33.3, "chrF": 55.5}, best=True, seconds=21.0, took=1.0
)


def test_json_lines_hold_every_figure(tmp_path):
    log = JsonLog(tmp_path / "log.jsonl", 0)
    log.step(STEP)
    log.validation(VALIDATION)
    log.close()
    first, second = (json.loads(line) for line in (tmp_path / "log.jsonl").open())
    assert first["kind"] == "step"
    assert (first["tokens"], first["cpu_seconds"], first["memory"]) == (1000, 7.0, 123)
    assert (second["kind"], second["bleu"], second["best"]) == ("validation", 33.3, True)


def test_a_loss_that_is_no_number_is_written_as_null(tmp_path):
    log = JsonLog(tmp_path / "log.jsonl", 0)
    log.step(replace(STEP, loss=math.nan, gradient_norm=math.inf))
    log.close()
    text = (tmp_path / "log.jsonl").read_text()
    assert "NaN" not in text
    assert "Infinity" not in text
    record = next(read_log(tmp_path / "log.jsonl"))
    assert (record["loss"], record["gradient_norm"]) == (None, None)


def test_a_resumed_log_forgets_what_will_be_made_again(tmp_path):
    log = JsonLog(tmp_path / "log.jsonl", 0)
    log.step(STEP)
    log.step(LATER)
    log.close()
    JsonLog(tmp_path / "log.jsonl", 30).close()
    assert [line["step"] for line in read_log(tmp_path / "log.jsonl")] == [20]


def test_what_a_power_cut_made_of_a_log_is_left_out_and_said(tmp_path):
    path = tmp_path / "log.jsonl"
    log = JsonLog(path, 0)
    log.step(STEP)
    log.step(LATER)
    log.close()
    good, later = path.read_bytes().splitlines(keepends=True)
    bad = [
        b"\0" * 4096 + b"\n",
        b'{"kind": "st\n',
        b"\xff\xfe\n",
        b"7\n",
        b'{"step": "20"}\n',
        b"\n",
    ]
    path.write_bytes(good + b"".join(bad) + later + b"\0" * 99)
    log = JsonLog(path, 40)
    log.close()
    assert path.read_bytes() == good + later
    assert log.damage == (
        f"{path}: 6 lines are not records of this run and left out (line 2, 3, 4, 5, 6, ...); "
        "the rest is kept."
    )
    assert [line["step"] for line in read_log(path)] == [20, 40]
    log = JsonLog(path, 40)
    assert log.damage is None
    log.close()


def test_a_system_without_resource_logs_no_memory(monkeypatch):
    monkeypatch.setattr("jumok.training.log.resource", None)
    assert peak_memory() is None


def test_a_log_that_is_not_there_has_no_lines(tmp_path):
    assert list(read_log(tmp_path / "log.jsonl")) == []


def test_tensorboard_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "torch.utils.tensorboard", None)
    with pytest.raises(MissingExtraError, match=r'pip install "jumok\[track\]"'):
        TensorBoardLog(tmp_path, 0)


def test_tensorboard_gets_the_figures(tmp_path):
    pytest.importorskip("tensorboard")
    log = TensorBoardLog(tmp_path, 0)
    log.step(STEP)
    log.validation(VALIDATION)
    log.close()
    written = next(tmp_path.iterdir()).read_bytes()
    assert b"training/loss" in written
    assert b"validation/bleu" in written


def test_pace_is_tokens_by_seconds_and_time_left_by_share():
    pace = Pace()
    pace.update(STEP)
    assert pace.tokens_per_second is None
    assert pace.seconds_left is None
    pace.update(LATER)
    assert pace.tokens_per_second == 4000 / 8  # 4,000 tokens in 8 seconds of steps
    assert pace.seconds_left == 10 / 0.25 * 0.5  # a quarter took 10 seconds, a half is left


@pytest.mark.parametrize(
    ("seconds", "text"), [(None, "-:--"), (9.0, "0:09"), (75.0, "1:15"), (3909.0, "1:05:09")]
)
def test_clock_is_read_as_a_clock(seconds, text):
    assert clock(seconds) == text


def test_plain_lines_come_every_ten_seconds():
    stream, time = io.StringIO(), [0.0]
    plain = PlainScreen(Console(file=stream), lambda: time[0])
    for second in range(21):
        time[0] = float(second)
        plain.step(replace(STEP, step=second))
    assert [line.split()[1] for line in stream.getvalue().splitlines()] == ["0", "10", "20"]
    assert "loss 2.500" in stream.getvalue()


def test_plain_validation_lines_say_what_is_best():
    stream = io.StringIO()
    PlainScreen(Console(file=stream)).validation(VALIDATION)
    line = stream.getvalue()
    assert "loss 1.750  BLEU 33.30  chrF 55.50" in line
    assert "best so far" in line


def test_the_live_line_shows_loss_speed_time_and_scores():
    stream = io.StringIO()
    live = LiveScreen(Console(file=stream, force_terminal=True, width=140))
    live.step(STEP)
    live.step(LATER)
    live.validation(VALIDATION)
    live.say("[brackets] are text")
    live.close()
    drawn = stream.getvalue()
    for part in ("2.500", "500", "tokens/s", "33.3", "55.5", "0:20", "left", "[brackets] are text"):
        assert part in drawn


def test_a_terminal_gets_the_live_line_and_a_pipe_plain_ones():
    assert isinstance(screen(Console(file=io.StringIO(), force_terminal=True)), LiveScreen)
    plain = screen(Console(file=io.StringIO(), force_terminal=False))
    assert isinstance(plain, PlainScreen)
    assert isinstance(plain, Log)
