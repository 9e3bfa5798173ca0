"""The weights as one row, of which each process updates a slice.

Computations use weights in `precision` (bfloat16 where it is faster on this machine); the "master"
weights are float32. Each share has a replica of the model, with common weights and a gradient of
its own. Of several processes, each has the sum of the gradients, the master weights, the moments
and the average of one slice only (`exchange.py`).

Source: Micikevicius et al. 2018 (master weights); Rajbhandari et al. 2020 (slices: ZeRO-2).
"""

import copy
from collections.abc import Mapping, Sequence
from contextvars import copy_context
from functools import partial

import torch
from torch import nn

from jumok.kernels.training.gradients import gradients_added_up
from jumok.shapes import Float, Tensor
from jumok.training.devices.workers import workers
from jumok.training.optimization.average import Average
from jumok.training.optimization.exchange import Exchange
from jumok.training.optimization.frozen import FrozenRows, frozen_elements
from jumok.training.optimization.optimizer import Optimizer, windows
from jumok.training.optimization.parameters import FlatParameters
from jumok.training.optimization.slices import Range, Slices
from jumok.training.optimization.weights import Compute, ModelReplica, TrainingSetup, Turn
from jumok.training.ranks import Ranks
from jumok.training.task import Objective


class Sliced:
    """One row; each thread computes a share of the micro-batches."""

    def __init__(self, setup: TrainingSetup, ranks: Ranks) -> None:
        model, config, precision = setup.model, setup.config, setup.precision
        self.layout = FlatParameters(model)
        hidden = self.layout.hidden if config.optimizer == "muon" else 0
        stretches = self.layout.stretches(hidden)
        self._exchange = Exchange(Slices(stretches, ranks.count), ranks)
        row = self.layout.flatten(model)
        self._master = self._exchange.cut(row)
        self.device = self._master.device
        self._computed = row.to(precision, copy=True)
        self._ranks = ranks
        objective = setup.objective
        self._own = range(self._exchange.number, setup.shares, ranks.count)
        self._gradients: list[Tensor] = []
        self._replicas = [
            self._replica(model if number == self._own[0] else copy.deepcopy(model), objective)
            for number in self._own
        ]
        self._pool = workers(setup.threads, self.device)
        self.gradient = torch.empty_like(self._master)
        self._optimizer = Optimizer(
            self.layout,
            self._exchange.ranges,
            self._master,
            self.gradient,
            config.betas,
            config.weight_decay,
            precision,
            self._pool,
        )
        self._average = Average(config.average, self._master)
        frozen = frozen_elements(model, self.layout)
        self._frozen = FrozenRows(
            None if frozen is None else self._exchange.cut(frozen), self._master
        )
        self._collected: Tensor | None = None

    def turns(self, places: Sequence[Sequence[int]]) -> list[list[Turn]]:
        """What each share of this process computes: its micro-batches, and without any nothing."""
        return [[Turn(index) for index in places[number]] for number in self._own]

    def backward(
        self, turns: Sequence[Sequence[Turn]], compute: Compute
    ) -> Float[Tensor, "own_shares 2"]:
        """Computes the gradient of each share, in threads; returns what `compute` gave for each,
        summed up.
        """

        def work(replica: ModelReplica, gradient: Tensor, its: Sequence[Turn]) -> Tensor:
            # MKL has one number for all threads, which validation sets back to that of the cores.
            torch.set_num_threads(1)
            gradient.zero_()
            sums = torch.zeros(2, dtype=torch.float64, device=gradient.device)
            with gradients_added_up():
                for turn in its:
                    sums += compute(replica, turn)
            return sums

        # In copies of this context, so that observers of this thread also observe the others.
        running = [
            self._pool.submit(copy_context().run, work, replica, gradient, its)
            for replica, gradient, its in zip(self._replicas, self._gradients, turns, strict=True)
        ]
        return torch.stack([each.result() for each in running])

    def sum_up(self) -> Float[Tensor, " norms"]:
        """Sums up the gradient of this process's slice; returns the norms of all blocks."""
        self._exchange.sum_up(self._gradients, self.gradient)
        self._frozen.silence(self.gradient)
        # Several cores would add up the squares in another order; a thread of the pool has one.
        norms = self._pool.submit(self._exchange.norms, self.gradient).result()
        return self._exchange.all_norms(norms)

    def step(self, scale: float | None, step: int, learning_rate: float) -> None:
        """One step of the optimizer, after which every process has all weights."""
        self._collected = None
        if scale is not None:
            self.gradient *= scale
        self._optimizer.step(learning_rate)
        self._frozen.restore(self._master)
        parts = windows(0, self._exchange.size, self.device)
        list(self._pool.map(partial(self._average.follow, self._master, step), parts))
        self._exchange.spread(self._master, self._computed)

    def snapshot(self) -> None:
        """Adds the current weights to last-k averaging, and collects the average in the first
        process.
        """
        self._average.snapshot(self._master)
        if self._ranks.count > 1:
            self._collected = self._exchange.collect(self._averaged())

    def averaged(self) -> nn.Module:
        """A float32 copy of the model in evaluation mode, with the averaged weights."""
        model = copy.deepcopy(self._replicas[0].model)
        self.layout.attach(model, self._whole().clone(), None)
        return model.eval().requires_grad_(False)

    def named(self) -> dict[str, Tensor]:
        """The averaged weights by parameter name, in float32."""
        return self.layout.views(self._whole())

    def state(self) -> dict[str, Tensor]:
        """The state of this process's slice; the weights follow from the master weights."""
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

    def _replica(self, model: nn.Module, objective: Objective) -> ModelReplica:
        """With the common weights and a gradient of its own."""
        gradient = torch.zeros_like(self._computed)
        self.layout.attach(model, self._computed, gradient)
        self._gradients.append(gradient)
        return ModelReplica.of(model.train(), partial(objective, model))
