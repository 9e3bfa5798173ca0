"""The processes that train one model together, as ranks.

Only `torch_ranks.py` imports torch.distributed: a run in one process does not wait for it.
"""

import json
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Protocol, runtime_checkable

import torch
from torch import nn

from jumok.errors import ConfigError
from jumok.json_types import JsonObject
from jumok.shapes import Tensor
from jumok.systems.device import choose_device


@runtime_checkable
class Ranks(Protocol):
    """All processes of a run; every one calls the same methods in the same order.

    Attributes:
        index, local_rank: of this one among all, and among those of its machine, from 0.
    """

    count: int
    index: int
    local_rank: int

    def all_gather(self, own: Tensor) -> Sequence[Tensor]:
        """The tensors of all ranks, in their order; they are of one shape and kind."""
        ...

    def sendrecv(self, other: int, own: Tensor, received: Tensor) -> None:
        """Sends a tensor to another rank, and at the same time receives one into `received`.

        What is empty is neither sent nor waited for.
        """
        ...

    def broadcast(self, facts: JsonObject | None) -> JsonObject:
        """The facts of the first rank; the others give None."""
        ...


@runtime_checkable
class ShardingRanks(Ranks, Protocol):
    """Ranks that can divide a module's parameters, by rows as `torch.chunk` cuts them."""

    def shard(
        self,
        whole: nn.Module,
        parts: Sequence[nn.Module],
        precision: torch.dtype,
        device: torch.device,
    ) -> None:
        """Divides the parameters of `whole`, in place. From then on all processes call it equally
        often, forward and backward.

        Args:
            parts: of `whole`; their parameters are brought together only while they compute, the
                others from the beginning of a call to the end of its backward pass.
            precision: of computations; the parameters that are kept are float32.
            device: to which the parameters are brought, one part after another.

        Raises:
            ConfigError: torch is too old.
        """
        ...

    def connected(self) -> AbstractContextManager[None]:
        """While entered, raises a TrainingError where another rank has ended."""
        ...


class SingleProcess:
    """One process."""

    count, index, local_rank = 1, 0, 0

    def all_gather(self, own: Tensor) -> Sequence[Tensor]:
        return [own]

    def sendrecv(self, other: int, own: Tensor, received: Tensor) -> None:
        assert not own.numel() + received.numel(), f"one process has no rank {other}"

    def broadcast(self, facts: JsonObject | None) -> JsonObject:
        assert facts is not None
        return facts


SINGLE_PROCESS = SingleProcess()


def all_gather_object(ranks: Ranks, facts: JsonObject) -> list[JsonObject]:
    """The facts of all ranks, in their order."""
    text = json.dumps(facts).encode()
    lengths = [int(content) for content in ranks.all_gather(torch.tensor(len(text)))]
    padded = torch.zeros(max(lengths), dtype=torch.uint8)
    padded[: len(text)] = torch.frombuffer(bytearray(text), dtype=torch.uint8)
    texts = zip(ranks.all_gather(padded), lengths, strict=True)
    return [json.loads(bytes(content[:length].tolist())) for content, length in texts]


def tree_sum(parts: Sequence[Tensor]) -> Tensor:
    """Adds the second half of the parts to the first in float32, again and again.

    The order depends on the number of parts alone, a power of two. A process that has every n-th
    part adds them up as this would, and the sums of all of them follow in the same order.
    """
    sums = list(parts)
    while len(sums) > 1:
        half = len(sums) // 2
        sums = [one.float() + other for one, other in zip(sums[:half], sums[half:], strict=True)]
    return sums[0]


def local_device(setting: str, ranks: Ranks) -> torch.device:
    """The device that this process trains on: of several on one machine, each has a GPU of its own.

    Args:
        setting: the recipe's `training.device`.

    Raises:
        ConfigError: the device does not exist, or this process has none of its own.
    """
    device = choose_device(setting)
    if ranks.count == 1 or device.type == "cpu":
        return device
    if device.index is not None:
        raise ConfigError(
            f"{ranks.count} processes cannot train on one GPU.",
            expected='training.device = "cuda" or "auto": each process takes a GPU of its own',
            got=f'"{setting}"',
        )
    gpus = torch.cuda.device_count()
    if ranks.local_rank >= gpus:
        raise ConfigError(
            f"process {ranks.local_rank} of this machine has no GPU of its own.",
            expected=f"at most {gpus} processes on this machine, which has so many GPUs",
            do="start fewer, or --set training.device=cpu",
        )
    own = torch.device("cuda", ranks.local_rank)
    torch.cuda.set_device(own)  # NCCL sends from the current one
    return own
