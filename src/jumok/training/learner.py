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
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial

import torch
from torch import nn

from jumok.config import TrainingConfig
from jumok.data.pairs.batches import on_device
from jumok.data.planned import Planned, collated
from jumok.kernels.card.compiling import TensorCompiler, compiled_by
from jumok.kernels.noise import Noise
from jumok.layers.experts import balance_heard
from jumok.shapes import Float, Tensor
from jumok.training.devices.ahead import fed
from jumok.training.devices.memory import memory_explained, recompute
from jumok.training.devices.workers import workers
from jumok.training.optimization.average import Average
from jumok.training.optimization.exchange import Exchange
from jumok.training.optimization.frozen import FrozenRows
from jumok.training.optimization.optimizer import Optimizer, windows
from jumok.training.optimization.parameters import FlatParameters
from jumok.training.optimization.slices import Range, Slices
from jumok.training.ranks import ALONE, Ranks
from jumok.training.task import MicroBatch, Objective, UpdateSource


@dataclass(frozen=True)
class Update:
    """The statistics of one step.

    Attributes:
        loss: label-smoothed, nats per target.
        tokens, source_tokens: `targets` and `sources` of its micro-batches.
        gradient_norm: before clipping.
        skipped: the loss or the gradient was not finite, and the weights were not changed.
        balance: of the experts of mixtures (`layers/experts.py`), 1 if all are used equally, as a
            mean over layers and targets; None: the model has none. The loss does not contain it.
    """

    loss: float
    tokens: int
    source_tokens: int
    gradient_norm: float
    skipped: bool
    balance: float | None = None


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
        if config.recompute:
            recompute(model)
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
        self._pool = workers(threads, self._master.device)
        self._compiler = TensorCompiler() if config.compile else None
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

    def fed(self, updates: UpdateSource) -> UpdateSource:
        """The updates in the way that keeps the device busy."""
        return fed(updates, self._master.device, self._own)

    def update(
        self, batches: Sequence[MicroBatch | Planned[MicroBatch]], step: int, learning_rate: float
    ) -> Update:
        """One step, counted from 1, on all `batches` together.

        Args:
            batches: of all processes; each collates its own only.
        """
        own = {index: collated(batches[index]) for index in self._own(batches)}
        tokens, sources = self._total(own.values())
        with memory_explained(self._config, self._master.device):
            sums = self._backward(own, share_out(batches, self._count), step, 1.0 / tokens)
        norms = self._sum_gradients()
        # The only numbers of a step that are read: a GPU is waited for once.
        read = torch.cat([sums.T.flatten(), norms.double()]).cpu().tolist()
        # fsum rounds once, so the order of the shares and of the blocks does not matter.
        loss = math.fsum(read[: self._count])
        balance = math.fsum(read[self._count : 2 * self._count])
        norm = math.sqrt(math.fsum(each * each for each in read[2 * self._count :]))
        finite = math.isfinite(norm) and math.isfinite(loss)
        if finite:
            self._apply(norm, step, learning_rate)
        return Update(
            loss=loss / tokens,
            tokens=tokens,
            source_tokens=sources,
            gradient_norm=norm,
            skipped=not finite,
            balance=balance / tokens or None,  # it is never 0 where there are experts
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

    def _own(self, batches: Sequence[MicroBatch | Planned[MicroBatch]]) -> list[int]:
        """The numbers of the micro-batches that this process computes."""
        places = share_out(batches, self._count)
        return [index for share in self._shares for index in places[share.number]]

    def _total(self, own: Iterable[MicroBatch]) -> tuple[int, int]:
        """The targets and the sources of the micro-batches of all processes."""
        targets, sources = 0, 0
        for batch in own:
            targets, sources = targets + batch.targets, sources + batch.sources
        if self._ranks.count == 1:
            return targets, sources
        every = self._ranks.gather(torch.tensor([targets, sources]))
        targets, sources = torch.stack(list(every)).sum(dim=0).tolist()
        return targets, sources

    def _backward(
        self,
        batches: Mapping[int, MicroBatch],
        places: Sequence[Sequence[int]],
        step: int,
        scale: float,
    ) -> Float[Tensor, "shares 2"]:
        """Accumulates the gradient of each share; returns the summed losses and balances of all.

        Args:
            batches: those of this process, by number.
            places: the numbers of each share's micro-batches.
        """

        def work(share: _Share) -> Tensor:
            # MKL has one number for all threads, which validation sets back to that of the cores.
            torch.set_num_threads(1)
            share.gradient.zero_()
            sums = torch.zeros(2, dtype=torch.float64, device=share.gradient.device)
            for index in places[share.number]:
                share.noise.rekey(self._seed, step, index)
                smoothing = self._config.label_smoothing
                batch = on_device(batches[index], share.gradient.device)
                with balance_heard(share.model) as balance:
                    loss = self._objective(share.model, batch, smoothing)
                sums[0] += loss.detach()
                if balance.term is not None and balance.mean is not None:
                    loss = loss + balance.term * batch.targets
                    sums[1] += balance.mean.detach() * batch.targets
                (loss * scale).backward()
            return sums

        # In copies of this context, so that observers of this thread also observe the others.
        with compiled_by(self._compiler):
            running = [self._pool.submit(copy_context().run, work, share) for share in self._shares]
        sums = torch.stack([each.result() for each in running])
        return torch.cat(list(self._ranks.gather(sums)))

    def _sum_gradients(self) -> Float[Tensor, " blocks"]:
        """Sums up the gradient of this process's slice; returns the norms of all blocks."""
        self._exchange.sum_up([share.gradient for share in self._shares], self._gradient)
        self._frozen.silence(self._gradient)
        # Several cores would add up the squares in another order; a thread of the pool has one.
        norms = self._pool.submit(self._exchange.norms, self._gradient).result()
        return self._exchange.all_norms(norms)

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
