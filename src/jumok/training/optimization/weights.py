"""The weights in training, whichever way several processes share them.

`sliced.py` has a row of which each process updates a slice, `sharded.py` rows of every parameter,
brought together block by block.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import nn

from jumok.config import TrainingConfig
from jumok.kernels.noise import Noise
from jumok.shapes import Float, Tensor
from jumok.training.optimization.slices import Range
from jumok.training.task import Objective


@dataclass(frozen=True)
class TrainingSetup:
    """What is trained, and how its updates are computed.

    Attributes:
        model: trained in place.
        precision: of products and activations.
        shares: of the micro-batches of a step, of all processes.
        threads: of this process (CPU).
    """

    model: nn.Module
    objective: Objective
    config: TrainingConfig
    precision: torch.dtype
    shares: int
    threads: int


@dataclass(frozen=True)
class Assignment:
    """A micro-batch that a process computes.

    Attributes:
        index: its number in the update.
        counts: False: it belongs to another process, and this one only has to take part.
    """

    index: int
    counts: bool = True


@dataclass(frozen=True)
class ModelReplica:
    """A model that computes one share after another, and its loss of (batch, smoothing)."""

    model: nn.Module
    noise: Noise
    loss: Callable[[Any, float], Float[Tensor, ""]]

    @classmethod
    def of(
        cls, model: nn.Module, loss: Callable[[Any, float], Float[Tensor, ""]]
    ) -> "ModelReplica":
        noise = model.noise
        assert isinstance(noise, Noise)
        return cls(model, noise, loss)


Compute = Callable[[ModelReplica, Assignment], Float[Tensor, "2"]]
"""The forward and backward pass of a assignment; gives its summed loss and balance in float64."""


class TrainedWeights(Protocol):
    """Computed weights, gradients, master weights, moments and averages, all on `device`.

    All processes call the same methods in the same order.
    """

    device: torch.device

    def assign(self, micro_batches: Sequence[Sequence[int]]) -> list[list[Assignment]]:
        """What each share of this process computes.

        Args:
            micro_batches: the numbers of each share's, of all processes; the largest first.
        """
        ...

    def backward(
        self, assignments: Sequence[Sequence[Assignment]], compute: Compute
    ) -> Float[Tensor, "own_shares 2"]:
        """Computes the gradient of each share; returns the sums of what `compute` gave."""
        ...

    def sum_gradients(self) -> Float[Tensor, " norms"]:
        """Sums up the gradients of all processes; returns norms whose squares add up to that of the
        whole gradient.
        """
        ...

    def step(self, scale: float | None, step: int, learning_rate: float) -> None:
        """One step of the optimizer, counted from 1.

        Args:
            scale: multiplies the gradient before; None: 1.
        """
        ...

    def snapshot(self) -> None:
        """Adds to last-k averaging, and collects the average in the first process."""
        ...

    def averaged(self) -> nn.Module:
        """A float32 copy of the model in evaluation mode, with the averaged weights.

        Of several processes, the first one has them, from `snapshot` to the next update.
        """
        ...

    def named(self) -> dict[str, Tensor]:
        """The averaged weights by parameter name, in float32; see `averaged`."""
        ...

    def state(self) -> dict[str, Tensor]:
        """What this process has of the state for an exact resume."""
        ...

    def ranges(self, name: str) -> list[Range] | None:
        """The ranges of the row (`FlatParameters`) in a tensor of the state; None: all processes
        have the same.
        """
        ...

    def load_state(self, state: Mapping[str, Tensor]) -> None: ...
