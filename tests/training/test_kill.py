"""Real processes, killed for real."""

import signal

import pytest

from benchmarks.kills import SECONDS, killed, prepare, started, trained, wait_for_steps
from jumok.training import checkpoint
from tests.training.runs import assert_same_end, final_state

STEPS = 40
ACCUMULATED = ("training.tokens_per_batch=300", "training.optimizer=adamw")
PLAIN = (
    *("training.tokens_per_batch=100", "training.optimizer=adamw"),
    *("training.average.kind=last", "training.average.last=2"),
)


def assert_killing_changes_nothing(folder, settings, kills):
    prepare(folder)
    options = [word for each in settings for word in ("--set", each)]
    trained(folder, "whole", *options, steps=STEPS)
    killed(folder, STEPS, kills, kills, lambda _: None, counts=(1,), last=(), settings=options)
    assert_same_end(folder / "whole" / "tiny", folder / "killed" / "tiny")
    assert final_state(folder / "killed" / "tiny")[1]["step"] == STEPS


def test_two_kills_change_no_bit(tmp_path):
    assert_killing_changes_nothing(tmp_path, ACCUMULATED, kills=2)


@pytest.mark.nightly
@pytest.mark.parametrize("settings", [ACCUMULATED, PLAIN], ids=["accumulated", "plain"])
def test_ten_kills_change_no_bit(tmp_path, settings):
    assert_killing_changes_nothing(tmp_path, settings, kills=10)


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["ctrl-c", "terminated"]
)
def test_a_signal_saves_says_how_to_go_on_and_leaves(tmp_path, number, code):
    prepare(tmp_path)
    process = started(tmp_path, "runs", steps=100_000)
    wait_for_steps(process, tmp_path / "runs" / "tiny" / "log.jsonl", 4)
    process.send_signal(number)
    _, errors = process.communicate(timeout=SECONDS)
    assert process.returncode == code, errors
    assert "everything is saved. Continue with:" in errors
    assert "jumok train tiny.toml --runs runs --set training.steps=100000 --resume" in errors
    saved, damage = checkpoint.load(tmp_path / "runs" / "tiny")
    assert damage is None
    assert f"stopped at step {saved.run['progress']['step']:,}" in errors
