"""Several processes train what one does: the same bits, whoever dies, and however it is resumed."""

import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path

import pytest
import torch

from jumok.cli.training.processes import to_start
from jumok.config import TrainingConfig
from jumok.errors import ConfigError
from jumok.training import checkpoint, torch_ranks
from jumok.training.ranks import Alone, halved
from jumok.training.run import decide, threads_of, usual_shares
from tests.training.test_kill import RECIPE

SECONDS = 120
CHANGED = ["training.shares=4", "training.tokens_per_batch=400", 'training.average.kind="ema"']


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    words, draw = "abcdefgh", random.Random(1)
    lines = ["".join(draw.choices(words, k=draw.randint(2, 9))) for _ in range(120)]
    (tmp_path / "rows.en").write_text("\n".join(lines) + "\n")
    (tmp_path / "rows.back").write_text("\n".join(line[::-1] for line in lines) + "\n")
    (tmp_path / "tiny.toml").write_text(RECIPE)
    return tmp_path


def started(
    folder: Path, runs: str, *options: str, steps: int = 24, launcher: tuple[str, ...] = (), **env
) -> subprocess.Popen[str]:
    changes = [f"training.steps={steps}", *CHANGED]
    command = [
        *(sys.executable, "-m", *launcher, "jumok", "train", "tiny.toml", "--runs", runs),
        *(word for change in changes for word in ("--set", change)),
        *options,
    ]
    return subprocess.Popen(
        command,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "JUMOK_THREADS": "1", **env},
    )


def trained(folder: Path, runs: str, *options: str, **others) -> dict[str, torch.Tensor]:
    """The state at the end."""
    process = started(folder, runs, *options, **others)
    _, errors = process.communicate(timeout=SECONDS)
    assert process.returncode == 0, errors
    return dict(checkpoint.load(folder / runs / "tiny")[0].tensors)


def assert_same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> None:
    assert one.keys() == other.keys()
    for name, tensor in one.items():
        assert torch.equal(tensor, other[name]), name


def wait_for_steps(process: subprocess.Popen[str], log: Path, steps: int) -> None:
    until = time.monotonic() + SECONDS
    while process.poll() is None and time.monotonic() < until:
        if log.exists() and log.read_bytes().count(b"\n") >= steps:
            return
        time.sleep(0.01)


def children(process: subprocess.Popen[str]) -> list[int]:
    """The processes that it started, in the order of their ranks."""
    return sorted(
        map(int, Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split())
    )


@pytest.mark.parametrize("count", [1, 2, 4, 8, 16])
def test_parts_are_added_in_one_order_whoever_has_them(count):
    parts = list(torch.randn(16, 1000, generator=torch.Generator().manual_seed(3)))
    own = [halved([part.bfloat16() for part in parts[rank::count]])[0] for rank in range(count)]
    assert torch.equal(halved(own)[0], halved([part.bfloat16() for part in parts])[0])


TORCHRUN = ("torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m")


def test_processes_give_the_bits_of_one_and_go_on_in_any_number(folder):
    """Killed in four at random, resumed in two, then in one; the log misses no step."""
    whole = trained(folder, "one")
    assert_same(whole, trained(folder, "two", launcher=TORCHRUN))
    process = started(folder, "mixed", "--processes", "4")
    log = folder / "mixed" / "tiny" / "log.jsonl"
    wait_for_steps(process, log, random.randint(4, 12))
    for each in children(process):
        os.kill(each, signal.SIGKILL)
    process.communicate(timeout=SECONDS)
    assert process.returncode == 128 + signal.SIGKILL
    if not checkpoint.exists(folder / "mixed" / "tiny"):
        trained(folder, "mixed", "--processes", "4", steps=4)
    process = started(folder, "mixed", "--processes", "2", "--resume")
    wait_for_steps(process, log, random.randint(14, 18))
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=SECONDS)
    assert process.returncode in (0, 128 + signal.SIGTERM), errors
    assert_same(whole, trained(folder, "mixed", "--resume"))
    kinds = [json.loads(line) for line in log.read_text().splitlines()]
    assert [line["step"] for line in kinds if line["kind"] == "step"] == list(range(1, 25))


@pytest.mark.skipif(not Path("/proc").exists(), reason="finds processes in /proc")
def test_one_that_dies_ends_the_run_within_seconds(folder):
    process = started(folder, "runs", "--processes", "2", steps=100_000)
    wait_for_steps(process, folder / "runs" / "tiny" / "log.jsonl", 3)
    os.kill(children(process)[1], signal.SIGKILL)
    begin = time.monotonic()
    _, errors = process.communicate(timeout=SECONDS)
    assert time.monotonic() - begin < 20
    assert process.returncode == 128 + signal.SIGKILL
    assert "process 1 of 2 was ended by SIGKILL; there may not have been enough" in errors
    assert "rank 0 lost the connection to another rank" in errors


def test_processes_that_train_different_things_are_named(folder):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    common = {"WORLD_SIZE": "3", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    running = [
        started(folder, "runs", "--set", f"training.steps={steps}", RANK=str(rank), **common)
        for rank, steps in enumerate((24, 25, 24))
    ]
    for process in running:
        _, errors = process.communicate(timeout=SECONDS)
        assert process.returncode == 2
        assert "the processes do not train the same" in errors
        assert "got:      rank 1 has others than rank 0" in errors
    assert not (folder / "runs").exists()


class Count(Alone):
    """So many processes, of which nothing else is known."""

    def __init__(self, count: int) -> None:
        self.count = count


def test_shares_that_the_processes_cannot_divide():
    with pytest.raises(ConfigError) as error:
        threads_of(TrainingConfig(), torch.device("cpu"), 4, Count(3))
    assert "4 shares of a step cannot be divided among 3 processes" in str(error.value)
    assert "expected: 1, 2, 4, ... processes, at most 4" in str(error.value)


def test_a_run_that_has_other_shares_than_in_one_process_is_told():
    said = []
    for keys in ({"tokens_per_batch": 1000}, {}, {"tokens_per_batch": 1000, "shares": 2}):
        training = TrainingConfig(precision="fp32", **keys)
        decide(training, torch.device("cpu"), said.append, Count(2))
    assert [each for each in said if "bits differ" in each] == [
        "a step has 2 shares, one for each process, and not 1 as in one process: the last bits "
        "differ from those of one (training.shares says how many)"
    ]


def test_the_shares_follow_from_the_recipe_alone():
    def shares(ranks: int, device: str = "cpu", **keys: int) -> int:
        return usual_shares(TrainingConfig(**keys), torch.device(device), Count(ranks))

    assert shares(1) == 4
    assert shares(1, tokens_per_batch=1000) == 1
    assert shares(2, tokens_per_batch=1000) == 2
    assert shares(1, tokens_per_batch=7000) == 4
    assert shares(1, tokens_per_batch=100_000) == 8
    assert shares(16, tokens_per_batch=100_000) == 16
    assert shares(1, "cuda") == 1
    training = TrainingConfig()
    assert threads_of(training, torch.device("cpu"), 2, Count(2)) == 1
    with pytest.raises(ConfigError, match="on processors only"):
        threads_of(training, torch.device("cuda"), 2, Count(2))


@pytest.mark.parametrize(
    ("variables", "text"),
    [
        ({"WORLD_SIZE": "2"}, "KeyError: 'RANK'"),
        ({"WORLD_SIZE": "two", "RANK": "0"}, "ValueError: invalid literal"),
        ({"WORLD_SIZE": "2", "RANK": "0", "MASTER_ADDR": "here"}, "KeyError: 'MASTER_PORT'"),
    ],
)
def test_an_environment_that_says_half(variables, text):
    with pytest.raises(ConfigError) as error, torch_ranks.joined(variables):
        pass
    assert text in str(error.value)
    assert "start it by torchrun, or by jumok train --processes" in str(error.value)


def test_a_rank_that_does_not_come_is_named(monkeypatch):
    monkeypatch.setattr(torch_ranks, "MEETING", timedelta(seconds=1))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    variables = {"WORLD_SIZE": "3", "RANK": "0", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    with pytest.raises(ConfigError) as error, torch_ranks.joined(variables):
        pass
    assert "waited 0:00:01 for rank 1, rank 2" in str(error.value)


def test_a_port_that_is_taken(monkeypatch):
    monkeypatch.setattr(torch_ranks, "MEETING", timedelta(seconds=1))
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        variables = {
            "WORLD_SIZE": "2",
            "RANK": "0",
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(port),
        }
        with pytest.raises(ConfigError) as error, torch_ranks.joined(variables):
            pass
    assert f"rank 0 of 2 did not meet the others at 127.0.0.1, port {port}" in str(error.value)


def test_processes_inside_of_torchrun_are_refused():
    assert to_start(2, {})
    assert not to_start(1, {"WORLD_SIZE": "4"})
    assert not to_start(2, {"WORLD_SIZE": "2"})  # it has been started so
    with pytest.raises(ConfigError, match="torchrun has started this one"):
        to_start(2, {"WORLD_SIZE": "4"})
