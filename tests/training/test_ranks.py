"""Several processes train what one does: the same bits, whoever dies, and however it is resumed."""

import json
import os
import signal
import socket
import time
from datetime import timedelta
from pathlib import Path

import pytest
import torch

from benchmarks.kills import (
    SECONDS,
    children,
    differing,
    killed,
    prepare,
    started,
    trained,
    wait_for_steps,
)
from jumok.cli.training.processes import free_port, to_start
from jumok.config import TrainingConfig
from jumok.errors import ConfigError
from jumok.training import checkpoint, ranks, torch_ranks
from jumok.training.ranks import SINGLE_PROCESS, SingleProcess, tree_sum
from jumok.training.run import decide, threads_of, usual_shares

needs_proc = pytest.mark.skipif(not Path("/proc").exists(), reason="finds processes in /proc")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    prepare(tmp_path)
    return tmp_path


@pytest.mark.parametrize("count", [1, 2, 4, 8, 16])
def test_parts_are_added_in_one_order_whoever_has_them(count):
    parts = list(torch.randn(16, 1000, generator=torch.Generator().manual_seed(3)))
    own = [tree_sum([part.bfloat16() for part in parts[rank::count]]) for rank in range(count)]
    assert torch.equal(tree_sum(own), tree_sum([part.bfloat16() for part in parts]))


TORCHRUN = ("torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m")


@needs_proc
def test_processes_give_the_bits_of_one_and_go_on_in_any_number(folder):
    """Killed in four and in one, and finished in two by torchrun; the log misses no step.

    `python -m benchmarks.kills` kills ten times.
    """
    counts, steps, said = (4, 1), 18, []
    whole = trained(folder, "one", steps=steps)
    kills = {"kills": len(counts), "seed": 1, "say": said.append, "counts": counts}
    assert differing(whole, killed(folder, steps, **kills, launcher=TORCHRUN, last=())) == []
    assert [text[0] for text in said] == list(map(str, counts))
    log = folder / "killed" / "tiny" / "log.jsonl"
    kinds = [json.loads(line) for line in log.read_text().splitlines()]
    assert [line["step"] for line in kinds if line["kind"] == "step"] == [*range(1, steps + 1)]


@needs_proc
@pytest.mark.parametrize(("sharding", "lost"), [("slices", "rank 1, which"), ("full", "")])
def test_one_that_dies_ends_the_run_within_seconds(folder, sharding, lost):
    settings = ("--set", f"training.sharding={sharding}", "--set", "training.optimizer=adamw")
    process = started(folder, "runs", "--processes", "2", *settings, steps=100_000)
    wait_for_steps(process, folder / "runs" / "tiny" / "log.jsonl", 3)
    os.kill(children(process)[1], signal.SIGKILL)
    _, errors = process.communicate(timeout=SECONDS)
    assert process.returncode == 128 + signal.SIGKILL
    assert "process 1 of 2 was ended by SIGKILL; there may not have been enough" in errors
    assert f"rank 0 lost the connection to {lost}" in errors


def ended(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


@needs_proc
def test_a_signal_to_one_process_and_the_end_of_the_starter_stop_all_with_a_checkpoint(folder):
    log = folder / "runs" / "tiny" / "log.jsonl"
    process = started(folder, "runs", "--processes", "2", steps=100_000)
    wait_for_steps(process, log, 3)
    os.kill(children(process)[1], signal.SIGTERM)
    _, errors = process.communicate(timeout=SECONDS)
    assert process.returncode == 128 + signal.SIGTERM, errors
    step = checkpoint.load(folder / "runs" / "tiny")[0].run["progress"]["step"]
    assert f"stopped at step {step:,}" in errors
    process = started(folder, "runs", "--processes", "2", "--resume", steps=100_000)
    wait_for_steps(process, log, log.read_bytes().count(b"\n") + 3)
    ranks = children(process)
    process.kill()
    until = time.monotonic() + SECONDS
    while not all(map(ended, ranks)):
        assert time.monotonic() < until
        time.sleep(0.05)
    process.communicate(timeout=SECONDS)
    later, damage = checkpoint.load(folder / "runs" / "tiny")
    assert damage is None
    assert later.run["progress"]["step"] > step


def test_processes_that_train_different_things_are_named(folder):
    port = str(free_port())
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


class Count(SingleProcess):
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
    assert threads_of(training, torch.device("cuda"), 2, Count(2)) == 1


@pytest.mark.parametrize(
    ("variables", "text"),
    [
        ({"WORLD_SIZE": "2"}, "KeyError: 'RANK'"),
        ({"WORLD_SIZE": "two", "RANK": "0"}, "ValueError: invalid literal"),
        ({"WORLD_SIZE": "2", "RANK": "0", "MASTER_ADDR": "here"}, "KeyError: 'MASTER_PORT'"),
    ],
)
def test_an_environment_that_says_half(variables, text):
    with pytest.raises(ConfigError) as error, torch_ranks.process_group(variables):
        pass
    assert text in str(error.value)
    assert "start it by torchrun, or by jumok train --processes" in str(error.value)


def test_a_rank_that_does_not_come_is_named(monkeypatch):
    monkeypatch.setattr(torch_ranks, "START_TIMEOUT", timedelta(seconds=1))
    port = str(free_port())
    variables = {"WORLD_SIZE": "3", "RANK": "0", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    with pytest.raises(ConfigError) as error, torch_ranks.process_group(variables):
        pass
    assert "waited 0:00:01 for rank 1, rank 2" in str(error.value)


def test_a_port_that_is_taken(monkeypatch):
    monkeypatch.setattr(torch_ranks, "START_TIMEOUT", timedelta(seconds=1))
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
        with pytest.raises(ConfigError) as error, torch_ranks.process_group(variables):
            pass
    assert f"rank 0 of 2 did not meet the others at 127.0.0.1, port {port}" in str(error.value)


def test_processes_inside_of_torchrun_are_refused():
    assert to_start(2, {})
    assert not to_start(1, {"WORLD_SIZE": "4"})
    assert not to_start(2, {"WORLD_SIZE": "2"})  # it has been started so
    with pytest.raises(ConfigError, match="torchrun has started this one"):
        to_start(2, {"WORLD_SIZE": "4"})


class Two(SingleProcess):
    """One of two processes, as far as its device goes."""

    count = 2

    def __init__(self, local_rank: int) -> None:
        self.local_rank = local_rank


@pytest.fixture
def two_gpus(monkeypatch) -> list[torch.device]:
    """A machine with two; what was made the current one."""
    current: list[torch.device] = []
    monkeypatch.setattr(ranks, "choose_device", torch.device)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "set_device", current.append)
    return current


def test_each_process_takes_the_gpu_of_its_number_on_the_machine(two_gpus):
    assert ranks.local_device("cuda", Two(1)) == torch.device("cuda:1")
    assert two_gpus == [torch.device("cuda:1")]
    assert ranks.local_device("cpu", Two(1)) == torch.device("cpu")


def test_one_process_takes_what_the_recipe_names(two_gpus):
    assert ranks.local_device("cuda:0", SINGLE_PROCESS) == torch.device("cuda:0")
    assert two_gpus == []


def test_a_process_without_a_gpu_is_named(two_gpus):
    with pytest.raises(ConfigError) as error:
        ranks.local_device("cuda", Two(2))
    assert "process 2 of this machine has no GPU of its own" in str(error.value)
    assert "expected: at most 2 processes on this machine, which has so many GPUs" in str(
        error.value
    )


def test_several_processes_do_not_share_a_gpu(two_gpus):
    with pytest.raises(ConfigError) as error:
        ranks.local_device("cuda:1", Two(1))
    assert "2 processes cannot train on one GPU" in str(error.value)
    assert 'got:      "cuda:1"' in str(error.value)


@pytest.mark.parametrize(
    ("gpus", "sent"), [(True, "cpu:gloo,cuda:nccl"), (False, "gloo")], ids=["GPUs", "none"]
)
def test_gpus_send_by_nccl(gpus, sent, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: gpus)
    monkeypatch.setattr(torch.distributed, "is_nccl_available", lambda: True)
    assert torch_ranks.backends() == sent
