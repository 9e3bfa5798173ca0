"""The training step: forward, backward, clip, optimizer, average.

Computations use weights in `precision` (bfloat16 where it is faster on this machine); the "master"
weights are float32. Each is one flat tensor. The micro-batches of a step are divided into shares,
whose gradients are summed in an order of their own; the shares are computed by the threads of one
process, or of several. So the number of shares decides the bits, and that of threads and processes
does not. On a CPU a thread has one core: two small products in parallel are faster than one small
product split in two. Of several processes, each has the sum of the gradients, the master weights,
the moments and the average of one slice only (`optimization/exchange.py`).

Source: Micikevicius et al. 2018 (master weights); Rajbhandari et al. 2020 (slices: ZeRO-2).
"""

import copy
import math
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial

import torch
from torch import nn

from jumok.config import TrainingConfig
from jumok.data.pairs.batches import on_device
from jumok.data.planned import Planned, collated
from jumok.kernels.noise import Noise
from jumok.shapes import Float, Tensor
from jumok.training.optimization.average import Average
from jumok.training.optimization.exchange import Exchange
from jumok.training.optimization.frozen import FrozenRows
from jumok.training.optimization.optimizer import Optimizer, windows
from jumok.training.optimization.parameters import FlatParameters
from jumok.training.optimization.slices import Range, Slices
from jumok.training.ranks import ALONE, Ranks
from jumok.training.task import MicroBatch, Objective


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
        ranks: the processes. Their number N is a power of two, and at most that of the shares, of
            which each computes those with a number of its own modulo N. All of them call the same
            methods in the same order.
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
        self._flat = FlatParameters(model)
        hidden = self._flat.hidden if config.optimizer == "muon" else 0
        stretches = self._flat.stretches(hidden)
        self._exchange = Exchange(Slices(stretches, ranks.count), ranks)
        row = self._flat.flatten(model)
        self._master = self._exchange.cut(row)
        self._computed = row.to(precision, copy=True)
        self._count, self._ranks = shares, ranks
        first = self._exchange.number
        self._shares = [
            self._share(number, model if number == first else copy.deepcopy(model))
            for number in range(first, shares, ranks.count)
        ]
        self._pool = ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,))
        self._gradient = torch.empty_like(self._master)
        self._optimizer = Optimizer(
            self._flat,
            self._exchange.ranges,
            self._master,
            self._gradient,
            config.betas,
            config.weight_decay,
            precision,
            self._pool,
        )
        self._average = Average(config.average, self._master)
        self._frozen = FrozenRows(model, self._flat, self._exchange, self._master)
        self._collected: Tensor | None = None

    def update(
        self, batches: Sequence[MicroBatch | Planned[MicroBatch]], step: int, learning_rate: float
    ) -> Update:
        """One step, counted from 1, on all `batches` together.

        Args:
            batches: of all processes; each collates its own only.
        """
        places = share_out(batches, self._count)
        own: dict[int, MicroBatch] = {
            index: collated(batches[index])
            for share in self._shares
            for index in places[share.number]
        }
        tokens, sources = self._total(own.values())
        loss = self._backward(own, places, step, 1.0 / tokens)
        norm = self._sum_gradients()
        finite = math.isfinite(norm) and math.isfinite(loss)
        if finite:
            self._apply(norm, step, learning_rate)
        return Update(
            loss=loss / tokens,
            tokens=tokens,
            source_tokens=sources,
            gradient_norm=norm,
            skipped=not finite,
        )

    def snapshot(self) -> None:
        """Adds the current weights to last-k averaging, and collects the average in the first
        process; called at every validation.
        """
        self._average.snapshot(self._master)
        if self._ranks.count > 1:
            self._collected = self._exchange.collect(self._averaged())

    def averaged(self) -> nn.Module:
        """A float32 copy of the model in evaluation mode, with the averaged weights.

        Of several processes, the first one has them, from `snapshot` to the next update.
        """
        model = copy.deepcopy(self._shares[0].model)
        self._flat.attach(model, self._whole().clone(), None)
        return model.eval().requires_grad_(False)

    def weights(self) -> dict[str, Tensor]:
        """The averaged weights by parameter name, in float32; see `averaged`."""
        return self._flat.views(self._whole())

    def state(self) -> dict[str, Tensor]:
        """The state of this process's slice for an exact resume; the weights follow from the master
        weights.
        """
        return {"master": self._master} | self._optimizer.state() | self._average.state()

    def ranges(self, name: str) -> list[Range] | None:
        """What a tensor of the state holds of the row in this process; None: all have the same."""
        if name == "adamw.step":
            return None
        kinds = {"muon": self._exchange.ranges[:1], "adamw": self._exchange.ranges[1:]}
        return kinds.get(name.partition(".")[0], self._exchange.ranges)

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        """Restores the result of `state` bit for bit."""
        self._master.copy_(state["master"])
        self._frozen.remember(self._master)
        self._exchange.spread(self._master, self._computed)
        self._optimizer.load_state(state)
        self._average.load_state(dict(state))
        self._collected = None

    def _whole(self) -> Float[Tensor, " size"]:
        """The averaged weights."""
        if self._ranks.count == 1:
            return self._averaged()
        assert self._collected is not None, "snapshot() collects them"
        return self._collected

    def _averaged(self) -> Float[Tensor, " slice"]:
        """The average of this process's slice."""
        average = self._average.weights(self._master)
        self._frozen.restore(average)
        return average

    def _share(self, number: int, model: nn.Module) -> _Share:
        gradient = torch.zeros_like(self._computed)
        self._flat.attach(model, self._computed, gradient)
        return _Share(number, model.train(), _noise(model), gradient)

    def _total(self, own: Iterable[MicroBatch]) -> tuple[int, int]:
        """The targets and the sources of the micro-batches of all processes."""
        targets, sources = 0, 0
        for batch in own:
            targets, sources = targets + batch.targets, sources + batch.sources
        every = self._ranks.gather(torch.tensor([targets, sources]))
        targets, sources = torch.stack(list(every)).sum(dim=0).tolist()
        return targets, sources

    def _backward(
        self,
        batches: Mapping[int, MicroBatch],
        places: Sequence[Sequence[int]],
        step: int,
        scale: float,
    ) -> float:
        """Accumulates the gradient of each share; returns the summed loss of all.

        Args:
            batches: those of this process, by number.
            places: the numbers of each share's micro-batches.
        """

        def work(share: _Share) -> float:
            # MKL has one number for all threads, which validation sets back to that of the cores.
            torch.set_num_threads(1)
            share.gradient.zero_()
            losses = []
            for index in places[share.number]:
                share.noise.rekey(self._seed, step, index)
                smoothing = self._config.label_smoothing
                batch = on_device(batches[index], share.gradient.device)
                loss = self._objective(share.model, batch, smoothing)
                (loss * scale).backward()
                losses.append(float(loss.detach()))
            return math.fsum(losses)

        # In copies of this context, so that observers of this thread also observe the others.
        running = [self._pool.submit(copy_context().run, work, share) for share in self._shares]
        losses = torch.tensor([each.result() for each in running], dtype=torch.float64)
        # fsum rounds once, so the order of the shares does not matter.
        return math.fsum(torch.stack(list(self._ranks.gather(losses))).flatten().tolist())

    def _sum_gradients(self) -> float:
        """Sums up the gradient of this process's slice; returns the norm of the whole."""
        self._exchange.sum_up([share.gradient for share in self._shares], self._gradient)
        self._frozen.silence(self._gradient)
        # Several cores would add up the squares in another order; a thread of the pool has one.
        norms = self._pool.submit(self._exchange.norms, self._gradient).result()
        # fsum rounds once, so the order of the blocks does not matter.
        return math.sqrt(math.fsum(norm * norm for norm in self._exchange.all_norms(norms)))

    def _apply(self, norm: float, step: int, learning_rate: float) -> None:
        self._collected = None
        clip = self._config.clip
        if clip is not None and norm > clip:
            self._gradient *= clip / norm
        self._optimizer.step(learning_rate)
        self._frozen.restore(self._master)
        parts = windows(0, self._exchange.size, self._master.device)
        list(self._pool.map(partial(self._average.follow, self._master, step), parts))
        self._exchange.spread(self._master, self._computed)


def _noise(model: nn.Module) -> Noise:
    """The generator of the model's dropout masks; a model has one."""
    noise = model.noise
    assert isinstance(noise, Noise)
    return noise


def share_out(batches: Sequence[MicroBatch | Planned[MicroBatch]], shares: int) -> list[list[int]]:
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
