"""Real processes, killed for real."""

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from jumok.training import checkpoint

STEPS = 40
RECIPE = f"""
name = "tiny"
[data]
validation_pairs = 11
[[data.train]]
source = "rows.en"
target = "rows.back"
[tokenizer]
kind = "char"
size = 64
byte_fallback = false
[model]
dim = 16
heads = 2
encoder_layers = 1
decoder_layers = 1
feedforward = 32
[training]
steps = {STEPS}
tokens_per_micro_batch = 100
precision = "fp32"
threads = 1
log_every = 1
checkpoint_every = 3
[validation]
every = 8
metric = "loss"
decode_pairs = 2
"""
ACCUMULATED = 'tokens_per_batch = 300\naverage = {kind = "ema"}\n'
PLAIN = 'tokens_per_batch = 100\naverage = {kind = "last", last = 2}\n'


def start(folder: Path, runs: str, *options: str) -> subprocess.Popen[str]:
    command = "from jumok.cli.main import run; run()"
    return subprocess.Popen(
        [sys.executable, "-c", command, "train", "tiny.toml", "--runs", runs, *options],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for_lines(process: subprocess.Popen[str], log: Path, lines: int) -> None:
    """Returns when the log is that long or the process has ended."""
    while process.poll() is None:
        if log.exists() and log.read_bytes().count(b"\n") >= lines:
            return
        time.sleep(0.002)


def finish(folder: Path, runs: str, *options: str) -> None:
    process = start(folder, runs, *options)
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors


def kill_and_resume(folder: Path, kills: int) -> None:
    """Kills the run at random points of its way, and lets it finish."""
    dice = random.Random(kills)
    log = folder / "killed" / "tiny" / "log.jsonl"
    for number in range(kills):
        resume = ["--resume"] if (folder / "killed" / "tiny" / "config.json").exists() else []
        process = start(folder, "killed", *resume)
        wait_for_lines(process, log, (STEPS * (number + 1)) // (kills + 1) + dice.randrange(3))
        time.sleep(dice.random() * 0.03)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert process.returncode == -signal.SIGKILL, "it had ended before it could be killed"
    finish(folder, "killed", "--resume")


def assert_killing_changes_nothing(folder: Path, write_corpus, settings: str, kills: int) -> None:
    write_corpus(folder)
    recipe = RECIPE.replace("[training]\n", f"[training]\n{settings}")
    (folder / "tiny.toml").write_text(recipe, encoding="utf-8")
    finish(folder, "whole")
    kill_and_resume(folder, kills)
    whole, killed = (
        checkpoint.read(folder / runs / "tiny" / checkpoint.CURRENT) for runs in ("whole", "killed")
    )
    assert killed.run["cursor"] == whole.run["cursor"]
    assert killed.run["progress"]["step"] == STEPS
    assert killed.run["progress"]["best"] == whole.run["progress"]["best"]
    assert killed.tensors.keys() == whole.tensors.keys()
    for name, tensor in whole.tensors.items():
        assert torch.equal(killed.tensors[name], tensor), name
    whole_model, killed_model = (
        (folder / runs / "tiny" / "model" / "model.safetensors").read_bytes()
        for runs in ("whole", "killed")
    )
    assert killed_model == whole_model


def test_two_kills_change_no_bit(tmp_path, write_corpus):
    assert_killing_changes_nothing(tmp_path, write_corpus, ACCUMULATED, kills=2)


@pytest.mark.nightly
@pytest.mark.parametrize("settings", [ACCUMULATED, PLAIN], ids=["accumulated", "plain"])
def test_ten_kills_change_no_bit(tmp_path, write_corpus, settings):
    assert_killing_changes_nothing(tmp_path, write_corpus, settings, kills=10)


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["ctrl-c", "terminated"]
)
def test_a_signal_saves_says_how_to_go_on_and_leaves(tmp_path, write_corpus, number, code):
    write_corpus(tmp_path)
    recipe = RECIPE.replace(f"steps = {STEPS}", "steps = 100000").replace(
        "[training]\n", f"[training]\n{PLAIN}"
    )
    (tmp_path / "tiny.toml").write_text(recipe, encoding="utf-8")
    process = start(tmp_path, "runs")
    wait_for_lines(process, tmp_path / "runs" / "tiny" / "log.jsonl", 4)
    process.send_signal(number)
    _, errors = process.communicate(timeout=300)
    assert process.returncode == code, errors
    assert "everything is saved. Continue with:" in errors
    assert "jumok train tiny.toml --runs runs --resume" in errors
    saved, damage = checkpoint.load(tmp_path / "runs" / "tiny")
    assert damage is None
    assert f"stopped at step {saved.run['progress']['step']:,}" in errors
