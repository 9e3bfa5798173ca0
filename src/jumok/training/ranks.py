"""The processes that train one model together.

Each is called a rank, as in MPI. Only `torch_ranks.py` knows torch.distributed: a run in one
process neither imports it nor waits for anyone.
"""

import json
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Protocol, runtime_checkable

import torch
from torch import nn

from jumok.json_types import JsonObject
from jumok.shapes import Tensor


@runtime_checkable
class Ranks(Protocol):
    """All processes of a run, in which every process calls the same methods in the same order.

    Attributes:
        count: of the processes.
        index: of this one, from 0.
        place: of this one among those of its machine, from 0.
    """

    count: int
    index: int
    place: int

    def gather(self, own: Tensor) -> Sequence[Tensor]:
        """The tensors of all ranks, in the order of the ranks; they are of one shape and kind."""
        ...

    def swap(self, other: int, own: Tensor, theirs: Tensor) -> None:
        """Sends a tensor to another rank, and at the same time receives one from it.

        What is empty is neither sent nor waited for.

        Args:
            theirs: is filled.
        """
        ...

    def told(self, facts: JsonObject | None) -> JsonObject:
        """The facts of the first rank; the others give None."""
        ...


@runtime_checkable
class ShardingRanks(Ranks, Protocol):
    """Processes that can divide a module's parameters, and bring them together while it computes.

    Each has a part of the rows of every parameter, as `torch.chunk` cuts them.
    """

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
            parts: of `whole`; their parameters are brought together only while they compute. The
                others stay together from the beginning of a call to the end of its backward pass.
            precision: of computations; the parameters that are kept are float32.
            device: to which the parameters are brought, one part after another.

        Raises:
            ConfigError: torch is too old.
        """
        ...

    def connected(self) -> AbstractContextManager[None]:
        """Inside of it, the end of another process is said as such.

        Raises:
            TrainingError: another rank has ended.
        """
        ...


class Alone:
    """One process."""

    count, index, place = 1, 0, 0

    def gather(self, own: Tensor) -> Sequence[Tensor]:
        """Its own tensor."""
        return [own]

    def swap(self, other: int, own: Tensor, theirs: Tensor) -> None:
        """There is no other, so there is nothing to send."""
        assert not own.numel() + theirs.numel(), f"one process has no rank {other}"

    def told(self, facts: JsonObject | None) -> JsonObject:
        """Its own facts."""
        assert facts is not None
        return facts


ALONE = Alone()


def told_by_all(ranks: Ranks, facts: JsonObject) -> list[JsonObject]:
    """The facts of all ranks, in their order."""
    text = json.dumps(facts).encode()
    lengths = [int(each) for each in ranks.gather(torch.tensor(len(text)))]
    padded = torch.zeros(max(lengths), dtype=torch.uint8)
    padded[: len(text)] = torch.frombuffer(bytearray(text), dtype=torch.uint8)
    texts = zip(ranks.gather(padded), lengths, strict=True)
    return [json.loads(bytes(each[:length].tolist())) for each, length in texts]


def halved(parts: Sequence[Tensor], down_to: int = 1) -> list[Tensor]:
    """Adds the second half of the parts to the first in float32, again and again.

    The order of the sums depends on the number of parts alone. Part s of a count that is a power
    of two is added to part s modulo every lower power, so whoever has all parts that are equal
    modulo `down_to` can add them up without the others.

    Args:
        parts: their number is `down_to` times a power of two.
    """
    sums = list(parts)
    while len(sums) > down_to:
        half = len(sums) // 2
        sums = [one.float() + other for one, other in zip(sums[:half], sums[half:], strict=True)]
    return sums
