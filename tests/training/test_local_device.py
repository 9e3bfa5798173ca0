"""Which GPU each of several processes takes; there is none here, so torch's answers are given."""

import pytest
import torch

from jumok.errors import ConfigError
from jumok.training import ranks, torch_ranks
from jumok.training.ranks import SINGLE_PROCESS, SingleProcess


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
