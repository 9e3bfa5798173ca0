"""Two processes cannot train into one folder."""

import json
import os
import signal
import subprocess
import sys
import threading
import time

import pytest
from typer.testing import CliRunner

from jumok.cli.main import app
from jumok.data.files.atomic import partial_of
from jumok.errors import ConfigError
from jumok.training import lock
from jumok.training.lock import HOLDER, held, refuse_several_processes
from jumok.training.run import train

HOLD = """
import sys, time
from pathlib import Path
from jumok.training.lock import held
with held(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(600)
"""


@pytest.fixture
def holder(tmp_path):
    """Another process that holds the folder of the run "tiny"."""
    (tmp_path / "tiny").mkdir()
    command = [sys.executable, "-c", HOLD, str(tmp_path / "tiny")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


@pytest.mark.parametrize("resume", [False, True])
def test_a_folder_that_another_process_trains_in_is_refused(
    tmp_path, make_config, recorder, holder, resume
):
    with pytest.raises(ConfigError, match="another process is training in this folder") as caught:
        train(make_config(), tmp_path, recorder(), resume=resume)
    text = str(caught.value)
    assert f"{tmp_path / 'tiny'}: " in text
    assert f"got:      process {holder.pid} on {os.uname().nodename}, since 20" in text
    assert "start another run: --name OTHER" in text
    assert not (tmp_path / "tiny" / "config.json").exists()


def test_the_lock_of_a_killed_process_is_taken_over(tmp_path, make_config, recorder, holder):
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    assert (tmp_path / "tiny" / HOLDER).exists()  # it had no time to remove it
    config = make_config("training.steps=2")
    assert train(config, tmp_path, recorder()).outcome.reason == "finished"
    assert not (tmp_path / "tiny" / HOLDER).exists()
    longer = make_config("training.steps=3")
    assert train(longer, tmp_path, recorder(), resume=True).progress.step == 3


def test_threads_of_one_process_do_not_share_a_folder(tmp_path, make_config, recorder):
    trains, goes_on = threading.Event(), threading.Event()

    def wait(step):
        trains.set()
        assert goes_on.wait(60)

    first = threading.Thread(target=train, args=(make_config(), tmp_path, recorder(wait)))
    first.start()
    assert trains.wait(60)
    try:
        with pytest.raises(ConfigError, match="another process is training"):
            train(make_config(), tmp_path, recorder())
    finally:
        goes_on.set()
        first.join()
    assert (tmp_path / "tiny" / "model").is_dir()


def test_of_two_commands_started_at_once_one_trains(tmp_path, write_corpus):
    source, target = write_corpus(tmp_path)
    command = [
        *(sys.executable, "-c", "from jumok.cli.main import run; run()", "train"),
        *("--source", source, "--target", target, "--name", "same"),
        *("--set", "training.steps=400", "--set", "training.threads=1", "--set", "model.dim=16"),
    ]
    processes = [
        subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(2)
    ]
    log = tmp_path / "runs" / "same" / "log.jsonl"
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and all(each.poll() is None for each in processes):
        time.sleep(0.05)
    assert any(each.poll() is not None for each in processes), "both train"
    loser = next(each for each in processes if each.poll() is not None)
    winner = processes[1 - processes.index(loser)]
    while time.monotonic() < deadline and not (log.exists() and log.read_bytes().count(b"\n")):
        time.sleep(0.05)
    winner.send_signal(signal.SIGTERM)
    _, errors = loser.communicate(timeout=60)
    assert loser.returncode == 2
    assert b"another process is training in this folder" in errors
    assert f"process {winner.pid} on ".encode() in errors
    _, errors = winner.communicate(timeout=60)
    assert winner.returncode == 128 + signal.SIGTERM, errors
    steps = [json.loads(line)["step"] for line in log.read_bytes().splitlines()]
    assert steps == sorted(set(steps))


def test_the_demo_refuses_torchrun(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WORLD_SIZE", "2")
    error = CliRunner().invoke(app, ["demo"]).exception
    assert isinstance(error, ConfigError)
    assert "the demo runs in one process" in str(error)
    assert "got:      WORLD_SIZE=2 in the environment, as torchrun sets it" in str(error)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("variables", [{}, {"WORLD_SIZE": "1"}, {"WORLD_SIZE": "auto"}])
def test_one_process_is_not_refused(variables):
    refuse_several_processes(variables)


def test_what_killed_runs_left_half_written_goes(tmp_path, make_config, recorder):
    dead = subprocess.Popen([sys.executable, "-c", "import os; print(os.getpid())"])
    dead.wait()
    train(make_config("training.steps=2"), tmp_path, recorder())
    home, cache = tmp_path / "tiny", tmp_path / ".cache"

    def left(name: str) -> str:
        return partial_of(home / name).name.replace(f"-{os.getpid()}", f"-{dead.pid}")

    (home / left("model")).mkdir()
    (home / left("smallworld")).mkdir()
    (home / left("tokenizer.model")).write_text("half")
    (home / "checkpoint.partial").write_text("half")
    (home / "checkpoint.partial-1").write_text("half")
    (home / "checkpoint-000009-2-of-4.safetensors").write_text("whole, but its index never came")
    (home / ".tmpq3IjYT").write_text("half")  # of safetensors
    (home / ".model.previous").mkdir()
    (cache / left("0123")).mkdir()
    before = {each.name for each in cache.iterdir()} - {left("0123")}
    train(make_config("training.steps=3"), tmp_path, recorder(), resume=True)
    assert {each.name for each in home.iterdir()} == {
        *(".lock", "checkpoint.previous.json", "checkpoint.json", "config.json"),
        *(f"checkpoint-{step:06}-1-of-1.safetensors" for step in (2, 3)),
        *("cleaning.json", "log.jsonl", "model", "recipe.toml", "tokenizer.model"),
        "validation.tsv",
    }
    assert {each.name for each in cache.iterdir()} == before


def test_a_lock_that_says_nothing_is_still_a_lock(tmp_path, holder, monkeypatch):
    monkeypatch.setattr(lock, "HOLDER_PATIENCE", 0.1)
    (tmp_path / "tiny" / HOLDER).write_text("[1]")
    unknown = "a process that is still starting"
    with pytest.raises(ConfigError, match=unknown), held(tmp_path / "tiny"):
        pass
