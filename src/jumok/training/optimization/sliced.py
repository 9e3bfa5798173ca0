"""The weights as one row, of which each process updates a slice.

Computations use weights in `precision`; the "master" weights are float32. Each share has a replica
of the model, with common weights and a gradient of its own. A process has the summed gradient, the
master weights, the moments and the average of its slice only.

Source: Micikevicius et al. 2018 (master weights); Rajbhandari et al. 2020 (slices: ZeRO-2).
"""

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from itertools import accumulate, groupby
from typing import ParamSpec, TypeVar

import torch
from torch import nn

from jumok.kernels.training.gradients import gradients_added_up
from jumok.shapes import Float, Shaped, Tensor
from jumok.training.optimization.average import Average
from jumok.training.optimization.frozen import FrozenRows, frozen_elements
from jumok.training.optimization.optimizer import Optimizer, windows
from jumok.training.optimization.parameters import FlatParameters
from jumok.training.optimization.slices import (
    WINDOW,
    Range,
    Slices,
    exchange_steps,
    slice_number,
)
from jumok.training.optimization.weights import Assignment, Compute, ModelReplica, TrainingSetup
from jumok.training.ranks import Ranks, tree_sum
from jumok.training.task import Objective

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class Sliced:
    """One row; each thread computes a share of the micro-batches."""

    def __init__(self, setup: TrainingSetup, ranks: Ranks) -> None:
        model, config, precision = setup.model, setup.config, setup.precision
        self.layout = FlatParameters(model)
        self._unlearnt = {
            name: parameter.detach()
            for name, parameter in model.named_parameters()
            if not parameter.requires_grad
        }
        for name, weights in self._unlearnt.items():
            model.get_parameter(name).data = weights.to(precision)
        # The replicas share them.
        shared = {id(each): each for each in map(model.get_parameter, self._unlearnt)}
        hidden = self.layout.hidden if config.optimizer == "muon" else 0
        segments = self.layout.segments(hidden)
        self._exchange = Exchange(Slices(segments, ranks.count), ranks)
        row = self.layout.flatten(model)
        self._master = self._exchange.cut(row)
        self.device = self._master.device
        self._computed = row.to(precision, copy=True)
        self._ranks = ranks
        objective = setup.objective
        self._own = range(self._exchange.number, setup.shares, ranks.count)
        self._gradients: list[Tensor] = []
        self._replicas = [
            self._replica(
                model if number == self._own[0] else copy.deepcopy(model, dict(shared)), objective
            )
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

    def assign(self, micro_batches: Sequence[Sequence[int]]) -> list[list[Assignment]]:
        return [[Assignment(index) for index in micro_batches[number]] for number in self._own]

    def backward(
        self, assignments: Sequence[Sequence[Assignment]], compute: Compute
    ) -> Float[Tensor, "own_shares 2"]:
        def compute_share(
            replica: ModelReplica, gradient: Tensor, share: Sequence[Assignment]
        ) -> Tensor:
            # MKL has one number for all threads, which validation sets back to that of the cores.
            torch.set_num_threads(1)
            gradient.zero_()
            sums = torch.zeros(2, dtype=torch.float64, device=gradient.device)
            with gradients_added_up():
                for assignment in share:
                    sums += compute(replica, assignment)
            return sums

        # In copies of this context, so that observers of this thread also observe the others.
        running = [
            self._pool.submit(copy_context().run, compute_share, replica, gradient, share)
            for replica, gradient, share in zip(
                self._replicas, self._gradients, assignments, strict=True
            )
        ]
        return torch.stack([result.result() for result in running])

    def sum_gradients(self) -> Float[Tensor, " norms"]:
        self._exchange.reduce_scatter(self._gradients, self.gradient)
        self._frozen.silence(self.gradient)
        # Several cores would add up the squares in another order; a thread of the pool has one.
        norms = self._pool.submit(self._exchange.norms, self.gradient).result()
        return self._exchange.all_norms(norms)

    def step(self, scale: float | None, step: int, learning_rate: float) -> None:
        self._collected = None
        if scale is not None:
            self.gradient *= scale
        self._optimizer.step(learning_rate)
        self._frozen.restore(self._master)
        parts = windows(0, self._exchange.size, self.device)
        list(self._pool.map(partial(self._average.follow, self._master, step), parts))
        self._exchange.all_gather(self._master, self._computed)

    def snapshot(self) -> None:
        self._average.snapshot(self._master)
        if self._ranks.count > 1:
            self._collected = self._exchange.gather(self._averaged())

    def averaged(self) -> nn.Module:
        model = copy.deepcopy(self._replicas[0].model)
        self.layout.attach(model, self._whole().clone(), None)
        for name, weights in self._unlearnt.items():
            model.get_parameter(name).data = weights
        return model.eval().requires_grad_(False)

    def named(self) -> dict[str, Tensor]:
        return self._unlearnt | self.layout.views(self._whole())

    def state(self) -> dict[str, Tensor]:
        """The weights follow from the master weights."""
        return {"master": self._master} | self._optimizer.state() | self._average.state()

    def ranges(self, name: str) -> list[Range] | None:
        if name == "adamw.step":
            return None
        kinds = {"muon": self._exchange.ranges[:1], "adamw": self._exchange.ranges[1:]}
        return kinds.get(name.partition(".")[0], self._exchange.ranges)

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        self._master.copy_(state["master"])
        self._frozen.remember(self._master)
        self._exchange.all_gather(self._master, self._computed)
        self._optimizer.load_state(state)
        self._average.load_state(dict(state))
        self._collected = None

    def _whole(self) -> Float[Tensor, " size"]:
        if self._ranks.count == 1:
            return self._averaged()
        assert self._collected is not None, "snapshot() collects them"
        return self._collected

    def _averaged(self) -> Float[Tensor, " slice"]:
        average = self._average.weights(self._master)
        self._frozen.restore(average)
        return average

    def _replica(self, model: nn.Module, objective: Objective) -> ModelReplica:
        gradient = torch.zeros_like(self._computed)
        self.layout.attach(model, self._computed, gradient)
        self._gradients.append(gradient)
        return ModelReplica.of(model.train(), partial(objective, model))


class Exchange:
    """Sums gradients over the processes slice by slice, and brings the weights back whole.

    Attributes:
        number: of its slice; and of its shares, modulo the number of processes.
        ranges: what it owns of each segment of the row. One after another, they are the slice.
        size: elements of the slice.
    """

    def __init__(self, slices: Slices, ranks: Ranks) -> None:
        self._slices, self._ranks = slices, ranks
        self.number = slice_number(ranks.index, ranks.count)
        self.ranges = slices.ranges(self.number, self.number + 1)
        self.size = sum(end - start for start, end in self.ranges)
        self._meetings = exchange_steps(ranks.index, ranks.count)

    def cut(self, row: Shaped[Tensor, " size"]) -> Shaped[Tensor, " slice"]:
        return torch.cat([row[start:end] for start, end in self.ranges])

    def reduce_scatter(
        self, parts: Sequence[Float[Tensor, " size"]], total: Float[Tensor, " slice"]
    ) -> None:
        """Writes the sum of the parts of all processes, in float32, into the slice `total`.

        Args:
            parts: those whose numbers are `self.number` modulo the processes.
        """
        filled = 0
        at_once = WINDOW if total.device.type == "cpu" else max(1, len(total))
        for window in self._slices.windows(at_once):
            sums = [tree_sum([part[start:end] for part in parts]) for start, end in window]
            partial = sums[0] if len(sums) == 1 else torch.cat(sums)
            offsets = [0, *accumulate(end - start for start, end in window)]
            first = 0
            for step in self._meetings:
                kept, sent = (
                    partial[offsets[start] - offsets[first] : offsets[end] - offsets[first]]
                    for start, end in (step.kept, step.given)
                )
                received = torch.empty_like(kept)
                self._ranks.sendrecv(step.other, sent, received)
                partial = tree_sum([kept, received])
                first = step.kept[0]
            total[filled : filled + len(partial)] = partial
            filled += len(partial)

    def all_gather(self, own: Float[Tensor, " slice"], row: Float[Tensor, " size"]) -> None:
        """Fills the row with the slices of all processes, rounded to its precision."""
        for (start, end), part in zip(self.ranges, self._parts(own), strict=True):
            row[start:end] = part
        for step in reversed(self._meetings):
            ours, received = (self._slices.ranges(*some) for some in (step.kept, step.given))
            for (start, end), (first, last) in zip(ours, received, strict=True):
                self._ranks.sendrecv(step.other, row[start:end], row[first:last])

    def gather(self, own: Float[Tensor, " slice"]) -> Float[Tensor, " size"]:
        """The whole row in the first process; in the others it is empty."""
        nothing = own[:0]
        if self._ranks.index:
            for part in self._parts(own):
                self._ranks.sendrecv(0, part, nothing)
            return nothing
        row = own.new_empty(self._slices.segments[-1].boundaries[-1])
        for (start, end), part in zip(self.ranges, self._parts(own), strict=True):
            row[start:end] = part
        for other in range(1, self._ranks.count):
            number = slice_number(other, self._ranks.count)
            for start, end in self._slices.ranges(number, number + 1):
                self._ranks.sendrecv(other, nothing, row[start:end])
        return row

    def norms(self, own: Float[Tensor, " slice"]) -> Float[Tensor, " blocks"]:
        """The norm of each block of the slice, for any number of processes the same.

        To be called by a thread that has one core: several would add up the squares in another
        order.
        """
        norms = [own[:0]]
        for segment, within, part in zip(
            self._slices.segments, self.ranges, self._parts(own), strict=True
        ):
            start = 0
            for length, equal in groupby(segment.blocks(within)):
                end = start + length * len(list(equal))
                norms.append(torch.linalg.vector_norm(part[start:end].view(-1, length), dim=1))
                start = end
        return torch.cat(norms)

    def all_norms(self, own: Float[Tensor, " blocks"]) -> Float[Tensor, " all_blocks"]:
        padded = own.new_zeros(self._slices.most_blocks)
        padded[: len(own)] = own
        # A padding of zeros adds nothing to a sum of squares.
        return torch.cat(list(self._ranks.all_gather(padded)))

    def _parts(self, own: Float[Tensor, " slice"]) -> Iterator[Float[Tensor, " part"]]:
        lengths = [end - start for start, end in self.ranges]
        yield from own.split(lengths)


class CallingThread(Executor):
    """An executor that computes at once, in the thread that asks."""

    def submit(
        self, work: Callable[Arguments, Result], /, *args: Arguments.args, **named: Arguments.kwargs
    ) -> Future[Result]:
        """The result, or the error."""
        future: Future[Result] = Future()
        try:
            future.set_result(work(*args, **named))
        except Exception as error:
            future.set_exception(error)
        return future


def workers(threads: int, device: torch.device) -> Executor:
    """Threads of one core each; on a GPU the thread of the run.

    A GPU computes in the order in which it is asked, so threads would only wait for one another.
    """
    if device.type != "cpu":
        return CallingThread()
    return ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,))
