"""The training step: forward, backward, clip, optimizer, average.

Computations use weights in `precision` (bfloat16 where it is faster on this machine); the "master"
weights are float32. Each is one flat tensor. The micro-batches of a step are divided into shares,
whose gradients are summed in an order of their own; the shares are computed by the threads of one
process, or of several. So the number of shares decides the bits, and that of threads and processes
does not. On a CPU a thread has one core: two small products in parallel are faster than one small
product split in two.

Source: Micikevicius et al. 2018 (master weights).
"""

import copy
import math
from collections.abc import Mapping, Sequence
from contextvars import copy_context
from dataclasses import dataclass

import torch
from torch import nn

from jumok.config import TrainingConfig
from jumok.data.pairs.batches import on_device
from jumok.kernels.card.compiling import TensorCompiler, compiled_by
from jumok.kernels.noise import Noise
from jumok.shapes import Float, Tensor
from jumok.training.devices.ahead import fed
from jumok.training.devices.memory import memory_explained, recompute
from jumok.training.devices.workers import workers
from jumok.training.optimization.average import Average
from jumok.training.optimization.frozen import FrozenRows
from jumok.training.optimization.optimizer import Optimizer
from jumok.training.optimization.parameters import FlatParameters
from jumok.training.ranks import ALONE, Ranks, halved
from jumok.training.task import MicroBatch, Objective, UpdateSource

CHUNK = 1 << 18
"""Elements of the gradients that are summed at once: those of all shares fit in a core's cache."""


@dataclass(frozen=True)
class Update:
    """The statistics of one step.

    Attributes:
        loss: label-smoothed, nats per target.
        tokens, source_tokens: `targets` and `sources` of its micro-batches.
        gradient_norm: before clipping.
        skipped: the loss or the gradient was not finite, and the weights were not changed.
    """

    loss: float
    tokens: int
    source_tokens: int
    gradient_norm: float
    skipped: bool


@dataclass(frozen=True)
class _Share:
    """A replica of the model, with common weights and its own gradients."""

    number: int
    model: nn.Module
    noise: Noise
    gradient: Float[Tensor, " size"]


class Learner:
    """A model in training.

    Args:
        model: trained in place.
        objective: the loss to minimize.
        seed: of the dropout masks, together with the step, so that there is no random state to
            save.
        precision: of products and activations.
        shares: of the micro-batches of a step, a power of two.
        threads: the number of micro-batches computed in parallel (CPU).
        ranks: the processes; rank r computes every share whose number is r modulo their number,
            which is a power of two, and at most that of the shares.
    """

    def __init__(
        self,
        model: nn.Module,
        objective: Objective,
        config: TrainingConfig,
        seed: int,
        precision: torch.dtype,
        shares: int = 1,
        threads: int = 1,
        ranks: Ranks = ALONE,
    ) -> None:
        self._objective, self._config, self._seed = objective, config, seed
        if config.recompute:
            recompute(model)
        self._flat = FlatParameters(model)
        self._master = self._flat.flatten(model)
        self._computed = self._master.to(precision, copy=True)
        self._count, self._ranks = shares, ranks
        self._shares = [
            self._share(number, model if number == ranks.index else copy.deepcopy(model))
            for number in range(ranks.index, shares, ranks.count)
        ]
        self._pool = workers(threads, self._master.device)
        self._compiler = TensorCompiler() if config.compile else None
        self._gradient = torch.empty_like(self._master)
        self._optimizer = Optimizer(
            config.optimizer,
            self._flat,
            self._master,
            self._gradient,
            config.betas,
            config.weight_decay,
            precision,
            self._pool,
        )
        self._average = Average(config.average, self._master)
        self._frozen = FrozenRows(model, self._flat, self._master)

    def fed(self, updates: UpdateSource) -> UpdateSource:
        """The updates in the way that keeps the device busy."""
        return fed(updates, self._master.device)

    def update(self, batches: Sequence[MicroBatch], step: int, learning_rate: float) -> Update:
        """One step, counted from 1, on all `batches` together."""
        tokens = sum(batch.targets for batch in batches)
        with memory_explained(self._config, self._master.device):
            losses = self._backward(batches, step, 1.0 / tokens)
        norm = self._sum_gradients()
        # The only numbers of a step that are read: a GPU is waited for once.
        *parts, length = torch.cat([losses, norm.double()[None]]).cpu().tolist()
        loss = math.fsum(parts)  # rounds once, so the order of the shares does not matter
        finite = math.isfinite(length) and math.isfinite(loss)
        if finite:
            self._apply(norm, length, learning_rate)
            self._average.follow(self._master, step)
        return Update(
            loss=loss / tokens,
            tokens=tokens,
            source_tokens=sum(batch.sources for batch in batches),
            gradient_norm=length,
            skipped=not finite,
        )

    def snapshot(self) -> None:
        """Adds the current weights to last-k averaging; called at every validation."""
        self._average.snapshot(self._master)

    def averaged(self) -> nn.Module:
        """A float32 copy of the model in evaluation mode, with the averaged weights."""
        model = copy.deepcopy(self._shares[0].model)
        self._flat.attach(model, self._averaged().clone(), None)
        return model.eval().requires_grad_(False)

    def weights(self) -> dict[str, Tensor]:
        """The averaged weights by parameter name, in float32."""
        return self._flat.views(self._averaged())

    def state(self) -> dict[str, Tensor]:
        """The state for an exact resume; the weights follow from the master weights."""
        return {"master": self._master} | self._optimizer.state() | self._average.state()

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        """Restores the result of `state` bit for bit."""
        self._master.copy_(state["master"])
        self._frozen.remember(self._master)
        self._computed.copy_(self._master)
        self._optimizer.load_state(state)
        self._average.load_state(dict(state))

    def _averaged(self) -> Float[Tensor, " size"]:
        average = self._average.weights(self._master)
        self._frozen.restore(average)
        return average

    def _share(self, number: int, model: nn.Module) -> _Share:
        gradient = torch.zeros_like(self._computed)
        self._flat.attach(model, self._computed, gradient)
        return _Share(number, model.train(), _noise(model), gradient)

    def _backward(
        self, batches: Sequence[MicroBatch], step: int, scale: float
    ) -> Float[Tensor, " shares"]:
        """Accumulates the gradient of each share; returns the summed losses of all shares."""
        places = share_out(batches, self._count)

        def work(share: _Share) -> Tensor:
            # MKL has one number for all threads, which validation sets back to that of the cores.
            torch.set_num_threads(1)
            share.gradient.zero_()
            total = torch.zeros((), dtype=torch.float64, device=share.gradient.device)
            for index in places[share.number]:
                share.noise.rekey(self._seed, step, index)
                smoothing = self._config.label_smoothing
                batch = on_device(batches[index], share.gradient.device)
                loss = self._objective(share.model, batch, smoothing)
                (loss * scale).backward()
                total += loss.detach()
            return total

        # In copies of this context, so that observers of this thread also observe the others.
        with compiled_by(self._compiler):
            running = [self._pool.submit(copy_context().run, work, share) for share in self._shares]
        losses = torch.stack([each.result() for each in running])
        return torch.cat(list(self._ranks.gather(losses)))

    def _sum_gradients(self) -> Float[Tensor, ""]:
        """The whole gradient in float32, and its norm."""
        own = [share.gradient for share in self._shares]
        size = CHUNK if self._gradient.device.type == "cpu" else len(self._gradient)
        for start in range(0, len(self._gradient), size):
            window = slice(start, start + size)
            self._gradient[window] = halved([each[window] for each in own])[0]
        if self._ranks.count > 1:
            whole = halved(list(self._ranks.gather(self._gradient)))[0]
            self._gradient.copy_(whole)
        self._frozen.silence(self._gradient)
        # Several cores would add up the squares in another order; a thread of the pool has one.
        return self._pool.submit(torch.linalg.vector_norm, self._gradient).result()

    def _apply(self, norm: Float[Tensor, ""], length: float, learning_rate: float) -> None:
        clip = self._config.clip
        if clip is not None and length > clip:
            self._gradient *= clip / norm
        self._optimizer.step(learning_rate)
        self._frozen.restore(self._master)
        self._computed.copy_(self._master)


def _noise(model: nn.Module) -> Noise:
    """The generator of the model's dropout masks; a model has one."""
    noise = model.noise
    assert isinstance(noise, Noise)
    return noise


def share_out(batches: Sequence[MicroBatch], shares: int) -> list[list[int]]:
    """The indices of the batches of each share: largest first, always to the share with the least
    work.
    """
    divided: list[list[int]] = [[] for _ in range(shares)]
    loads = [0] * shares
    for index in sorted(range(len(batches)), key=lambda i: -batches[i].work):
        share = loads.index(min(loads))
        divided[share].append(index)
        loads[share] += batches[index].work
    return divided
