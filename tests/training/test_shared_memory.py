"""Memory that processes of one machine share: what gloo gives, bit for bit, and no hang."""

import os
import signal
import socket
import sys
import time
from pathlib import Path

import pytest
import torch

from jumok.errors import TrainingError
from jumok.training import shared_memory
from jumok.training.shared_memory import SLOT, channels
from jumok.training.torch_ranks import TorchRanks
from tests.training.gloo_group import Group

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="memory is shared on Linux only")

SIZES = 0, 1, 7, SLOT // 4, SLOT // 4 + 1, SLOT
"""Elements of four bytes: nothing, little, a slot, and several."""


def random(rank: int, other: int, size: int, dtype: torch.dtype) -> torch.Tensor:
    source = torch.Generator().manual_seed(100 * rank + other)
    return torch.randn(size, generator=source).to(dtype)


def swapped(ranks: TorchRanks) -> dict[str, object]:
    """Everything through the channels of these ranks, and once more over gloo alone."""
    group = TorchRanks(ranks.local_rank, {})
    exchanges, differing = 0, []
    for dtype in (torch.float32, torch.bfloat16, torch.int64):
        for sizes in zip(SIZES, reversed(SIZES), strict=True):
            for turn in range(ranks.count):
                other = (turn - ranks.index) % ranks.count
                if other == ranks.index:
                    continue
                low = ranks.index < other
                given, wanted = sizes if low else reversed(sizes)
                own = random(ranks.index, other, given, dtype)
                received = [torch.zeros(wanted, dtype=dtype) for _ in range(2)]
                for way, theirs in zip((ranks, group), received, strict=True):
                    way.sendrecv(other, own, theirs)
                expected = random(other, ranks.index, wanted, dtype)
                exchanges += 1
                if not all(torch.equal(each, expected) for each in received):
                    differing.append((other, sizes, str(dtype)))
    return {"near": sorted(ranks._channels), "exchanges": exchanges, "differing": differing}


def gathered(ranks: TorchRanks) -> bool:
    """Whether channels and gloo gather the same: a number, a matrix, its transpose, and gaps."""
    group = TorchRanks(ranks.local_rank, {})
    rows = random(ranks.index, 0, 60, torch.float64).view(6, 10)
    return all(
        torch.equal(one, other)
        for own in (torch.tensor(ranks.index), rows, rows.T, rows[:, ::2])
        for one, other in zip(ranks.all_gather(own), group.all_gather(own), strict=True)
    )


def apart(ranks: TorchRanks) -> list[int]:
    """Whom each finds if rank 1 cannot say on which machine it is."""
    if ranks.index == 1:
        shared_memory._BOOT = Path("/none")
    with channels(TorchRanks(ranks.local_rank, {}), 30) as near:
        return sorted(near)


def lost(ranks: TorchRanks) -> tuple[str, float]:
    """What those that wait for the last rank are told when it is killed, and after how long."""
    last = ranks.count - 1
    if ranks.index == last:
        time.sleep(0.5)
        os.kill(os.getpid(), signal.SIGKILL)
    begun = time.monotonic()
    with pytest.raises(TrainingError) as error:
        ranks.sendrecv(last, torch.ones(3), torch.zeros(3))
    return str(error.value), time.monotonic() - begun


@pytest.mark.parametrize("count", [2, 3, 4])
def test_channels_give_what_gloo_gives(count):
    with Group(count) as group:
        for rank, answer in enumerate(group.work(swapped)):
            assert answer["near"] == [other for other in range(count) if other != rank]
            assert answer["exchanges"] == 3 * len(SIZES) * (count - 1)
            assert answer["differing"] == []
        assert all(group.work(gathered))


def test_one_that_shares_no_memory_is_reached_by_gloo():
    with Group(3) as group:
        assert group.work(apart) == [[2], [], [0]]


def test_the_end_of_a_process_is_noticed_at_once():
    with Group(3) as group:
        for text, seconds in group.work(lost, dying=[2]):
            assert "lost the connection to rank 2, which has probably ended" in text
            assert seconds < 10


def test_the_user_of_the_other_end_is_known():
    one, other = socket.socketpair()
    with one, other:
        assert shared_memory._user_of(one) == os.getuid()
