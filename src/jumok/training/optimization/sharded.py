"""The weights in rows of every parameter, brought together block by block: FSDP2.

Each process has some rows of every float32 weight, of its gradient, its moments and its average.
All processes compute equally many micro-batches: one with fewer computes one that belongs to
another process, and multiplies its loss by zero.

Source: Rajbhandari et al. 2020 (ZeRO-3); Zhao et al. 2023 (FSDP).
"""

import copy
import math
from collections.abc import Mapping, Sequence

import torch
from torch import nn

from jumok.config import TrainingConfig
from jumok.errors import ConfigError
from jumok.layers.block import Block, Stack
from jumok.shapes import Float, Tensor
from jumok.training.devices.memory import give_back_freed_memory
from jumok.training.optimization.average import Average
from jumok.training.optimization.frozen import FrozenRows, frozen_elements
from jumok.training.optimization.optimizer import EPSILON
from jumok.training.optimization.parameters import FlatParameters
from jumok.training.optimization.slices import Range
from jumok.training.optimization.weights import Assignment, Compute, ModelReplica, TrainingSetup
from jumok.training.ranks import ShardingRanks
from jumok.training.task import Objective

INSTEAD = "--set training.sharding=slices"


class Lossed(nn.Module):
    """A model with its loss as one module: objectives call parts of a model only."""

    def __init__(self, model: nn.Module, objective: Objective) -> None:
        super().__init__()
        self.model = model
        self._objective = objective

    def forward(self, batch: object, smoothing: float) -> Float[Tensor, ""]:
        return self._objective(self.model, batch, smoothing)


class Sharded:
    """Rows of every parameter; all threads compute one micro-batch.

    Args:
        setup: its model is on the CPU until it is divided.

    Raises:
        ConfigError: see `refuse_undivided`.
    """

    def __init__(self, setup: TrainingSetup, ranks: ShardingRanks, device: torch.device) -> None:
        model, config = setup.model, setup.config
        if not all(parameter.requires_grad for parameter in model.parameters()):
            raise ConfigError(
                'training.sharding = "full" trains every parameter.',
                got="start.freeze or start.lora",
                do=INSTEAD,
            )
        blocks = blocks_of(model)
        self._layout = FlatParameters(model)
        refuse_undivided(model, blocks, self._layout, config, ranks.count)
        self._shards = Shards(self._layout, ranks.count)
        self._ranks, self._threads = ranks, setup.threads
        self.device = device
        self._betas, self._weight_decay = config.betas, config.weight_decay
        # A copy with the same buffers and no weights of its own: `averaged` fills it.
        empty = {id(tensor): nn.Parameter(torch.empty(0)) for tensor in model.parameters()}
        same = {id(tensor): tensor for tensor in model.buffers()}
        self._bare = copy.deepcopy(model, {**empty, **same})
        frozen = frozen_elements(model, self._layout)
        lossed = Lossed(model.train(), setup.objective)
        ranks.shard(lossed, blocks, setup.precision, device)
        if device.type == "cpu":
            give_back_freed_memory()
        self._model = model
        self._replica = ModelReplica.of(model, lossed)
        own = self._own
        self._means, self._squares = (
            [torch.zeros_like(tensor) for tensor in own] for _ in range(2)
        )
        self._steps = torch.zeros((), device=device)
        self._averages = [Average(config.average, tensor) for tensor in own]
        masks = [None] * len(own) if frozen is None else self._shards.cut(frozen, ranks.index)
        self._frozen = [
            FrozenRows(None if mask is None or not mask.any() else mask.to(device), tensor)
            for mask, tensor in zip(masks, own, strict=True)
        ]
        self._gradients: list[Tensor] = []
        self._collected: Tensor | None = None

    def assign(self, micro_batches: Sequence[Sequence[int]]) -> list[list[Assignment]]:
        """As many micro-batches as any other process computes."""
        count = self._ranks.count
        # If its loss is not finite, the process whose own it is finds the same.
        spare = Assignment(next(share[-1] for share in micro_batches if share), counts=False)
        sizes = [sum(map(len, micro_batches[rank::count])) for rank in range(count)]
        own = micro_batches[self._ranks.index :: count]
        assignments = [[Assignment(number) for number in share] for share in own]
        assignments[-1] += [spare] * (max(sizes) - sizes[self._ranks.index])
        return assignments

    def backward(
        self, assignments: Sequence[Sequence[Assignment]], compute: Compute
    ) -> Float[Tensor, "own_shares 2"]:
        torch.set_num_threads(self._threads)  # validation sets it to its own
        for parameter in self._model.parameters():
            parameter.grad = None
        sums = torch.zeros(len(assignments), 2, dtype=torch.float64, device=self.device)
        with self._ranks.connected():
            for number, share in enumerate(assignments):
                for assignment in share:
                    sums[number] += compute(self._replica, assignment)
        return sums

    @torch.no_grad()
    def sum_gradients(self) -> Float[Tensor, " norms"]:
        """FSDP2 has summed the gradients already."""
        self._gradients = []
        for parameter, frozen in zip(self._parameters, self._frozen, strict=True):
            assert parameter.grad is not None, "FSDP2 gives every parameter a gradient"
            gradient = _own_rows(parameter.grad)
            gradient *= self._ranks.count  # FSDP2 gives the mean, and gloo no other factor
            frozen.silence(gradient)
            self._gradients.append(gradient)
        norms = torch.stack(
            [torch.linalg.vector_norm(gradient_rows) for gradient_rows in self._gradients]
        )
        return torch.cat(list(self._ranks.all_gather(norms)))

    @torch.no_grad()
    def step(self, scale: float | None, step: int, learning_rate: float) -> None:
        self._collected = None
        self._steps += 1
        own = self._own
        every = zip(own, self._gradients, self._means, self._squares, strict=True)
        for weights, gradient, mean, square in every:
            if scale is not None:
                gradient *= scale
            if weights.numel():
                torch._fused_adamw_(
                    [weights], [gradient], [mean], [square], [], [self._steps],
                    lr=learning_rate, beta1=self._betas[0], beta2=self._betas[1],
                    weight_decay=self._weight_decay if weights.ndim >= 2 else 0.0,
                    eps=EPSILON, amsgrad=False, maximize=False,
                )  # fmt: skip
        for weights, frozen, average in zip(own, self._frozen, self._averages, strict=True):
            frozen.restore(weights)
            average.follow(weights, step)

    @torch.no_grad()
    def snapshot(self) -> None:
        own = self._own
        averaged = []
        for weights, frozen, average in zip(own, self._frozen, self._averages, strict=True):
            average.snapshot(weights)
            mean = average.weights(weights)
            frozen.restore(mean)
            averaged.append(mean)
        self._collected = self._collect(self._joined(averaged))

    def averaged(self) -> nn.Module:
        model = copy.deepcopy(self._bare)
        self._layout.attach(model, self._whole.clone(), None)
        return model.to(self.device).eval().requires_grad_(False)

    def named(self) -> dict[str, Tensor]:
        return self._layout.views(self._whole)

    @torch.no_grad()
    def state(self) -> dict[str, Tensor]:
        averages = [average.state() for average in self._averages]
        return {
            "master": self._joined(self._own),
            "adamw.exp_avg": self._joined(self._means),
            "adamw.exp_avg_sq": self._joined(self._squares),
            "adamw.step": self._steps,
            "muon.momentum": torch.empty(0, device=self.device),
        } | {name: self._joined([average[name] for average in averages]) for name in averages[0]}

    def ranges(self, name: str) -> list[Range] | None:
        if name == "adamw.step":
            return None
        return [(0, 0)] if name == "muon.momentum" else self._shards.ranges(self._ranks.index)

    @torch.no_grad()
    def load_state(self, state: Mapping[str, Tensor]) -> None:
        parts = {
            name: self._shards.split(row, self._ranks.index)
            for name, row in state.items()
            if name not in ("adamw.step", "muon.momentum")
        }
        self._steps.copy_(state["adamw.step"])
        for number, weights in enumerate(self._own):
            weights.copy_(parts["master"][number])
            self._means[number].copy_(parts["adamw.exp_avg"][number])
            self._squares[number].copy_(parts["adamw.exp_avg_sq"][number])
            self._frozen[number].remember(weights)
            own_parts = {name: some[number] for name, some in parts.items()}
            self._averages[number].load_state(own_parts)
        self._collected = None

    @property
    def _parameters(self) -> list[nn.Parameter]:
        return [self._model.get_parameter(name) for name in self._shards.names]

    @property
    def _own(self) -> list[Tensor]:
        return [_own_rows(parameter.detach()) for parameter in self._parameters]

    @property
    def _whole(self) -> Float[Tensor, " size"]:
        assert self._collected is not None, "snapshot() collects them"
        return self._collected

    def _joined(self, parts: Sequence[Tensor]) -> Float[Tensor, " own"]:
        return self._shards.joined(parts, self._ranks.index)

    def _collect(self, own: Float[Tensor, " own"]) -> Float[Tensor, " size"]:
        nothing = own[:0]
        if self._ranks.index:
            self._ranks.sendrecv(0, own, nothing)
            return nothing.cpu()
        row = torch.empty(self._layout.size)
        for rank in range(self._ranks.count):
            ranges = self._shards.ranges(rank)
            received = own
            if rank:
                received = own.new_empty(sum(end - start for start, end in ranges))
                self._ranks.sendrecv(rank, nothing, received)
            parts = received.split([end - start for start, end in ranges])
            for (start, end), part in zip(ranges, parts, strict=True):
                row[start:end] = part
        return row


def blocks_of(model: nn.Module) -> list[Block]:
    """The blocks of all stacks."""
    stacks = (module for module in model.modules() if isinstance(module, Stack))
    return [block for stack in stacks for block in stack]


def refuse_undivided(
    model: nn.Module,
    blocks: Sequence[Block],
    layout: FlatParameters,
    config: TrainingConfig,
    count: int,
) -> None:
    """Refuses what cannot be trained in rows of every parameter by `count` processes.

    Raises:
        ConfigError: Muon, a model without blocks, a weight that several blocks have, a weight
            without rows, or fewer rows than processes.
    """
    if config.optimizer == "muon":
        raise ConfigError(
            'training.sharding = "full" gives each process some rows of every matrix, and Muon '
            "needs whole ones.",
            got='training.optimizer = "muon"',
            do=f"--set training.optimizer=adamw, or {INSTEAD}",
        )
    if not blocks:
        raise ConfigError(
            'training.sharding = "full" brings a model together block by block, and this one has '
            "none.",
            got=type(model).__name__,
            do=INSTEAD,
        )
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    outside = {id(parameter) for parameter in _parameters_outside(model, blocks)}
    seen = set(outside)
    for block in blocks:
        inside = {id(parameter) for parameter in block.parameters()}
        if shared := seen & inside:
            raise ConfigError(
                'training.sharding = "full" cannot divide a weight that several blocks share.',
                got=", ".join(sorted(names[identity] for identity in shared)),
                do=INSTEAD,
            )
        seen |= inside
    for name, _, shape in layout.entries:
        if not shape:
            raise ConfigError(
                'training.sharding = "full" cannot divide a weight without rows.',
                got=f"{name}, which is one number",
                do=f"make it a vector of one element, or {INSTEAD}",
            )
    rows = max(shape[0] for _, _, shape in layout.entries)
    most = -(-rows // count)
    if (count - 1) * most >= rows:
        raise ConfigError(
            'training.sharding = "full" gives each process some rows of the weights, and there are '
            "not enough.",
            expected=f"a row for the last of {count} processes",
            got=f"at most {rows} rows in a weight",
            do=f"start fewer processes, or {INSTEAD}",
        )


def _parameters_outside(model: nn.Module, blocks: Sequence[Block]) -> list[nn.Parameter]:
    inside = {id(module) for block in blocks for module in block.modules()}
    return [
        parameter
        for module in model.modules()
        if id(module) not in inside
        for parameter in module.parameters(recurse=False)
    ]


def _own_rows(parameter: Tensor) -> Tensor:
    rows: Tensor = parameter.to_local()  # type: ignore[attr-defined]
    return rows


class Shards:
    """The chunks of all parameters, as `torch.chunk` cuts their rows, for `count` processes.

    A chunk is a range of the row of `FlatParameters`, so checkpoints of chunks and of slices are
    alike, for any number of processes.
    """

    def __init__(self, layout: FlatParameters, count: int) -> None:
        self._layout, self._count = layout, count
        self.names = [name for name, _, _ in layout.entries]
        self.size = layout.size

    def shapes(self, index: int) -> list[torch.Size]:
        """Those of what process `index` has."""
        return [
            torch.Size([end - first, *shape[1:]])
            for (_, _, shape), (first, end) in zip(
                self._layout.entries, self._rows(index), strict=True
            )
        ]

    def ranges(self, index: int) -> list[Range]:
        """With a parameter's last row also the zeros after it."""
        ranges = []
        for (_, (start, end), shape), (first, last) in zip(
            self._layout.entries, self._rows(index), strict=True
        ):
            width = math.prod(shape[1:])
            ends = last == shape[0] and first < last
            ranges.append((start + first * width, end if ends else start + last * width))
        return ranges

    def joined(self, parts: Sequence[Tensor], index: int) -> Float[Tensor, " own"]:
        """The parts of process `index`, one after another, as its ranges say."""
        ranges = self.ranges(index)
        row = parts[0].new_zeros(sum(end - start for start, end in ranges))
        for window, part in zip(self.split(row, index), parts, strict=True):
            window.copy_(part)
        return row

    def split(self, row: Float[Tensor, " own"], index: int) -> list[Tensor]:
        """The result of `joined` taken apart, as windows into it."""
        lengths = [end - start for start, end in self.ranges(index)]
        return [
            part[: shape.numel()].view(shape)
            for part, shape in zip(row.split(lengths), self.shapes(index), strict=True)
        ]

    def cut(self, row: Float[Tensor, " size"], index: int) -> list[Tensor]:
        """What process `index` has of a whole row, as windows into it."""
        return [
            row[start : start + shape.numel()].view(shape)
            for (start, _), shape in zip(self.ranges(index), self.shapes(index), strict=True)
        ]

    def _rows(self, index: int) -> list[Range]:
        rows = []
        for _, _, shape in self._layout.entries:
            most = -(-shape[0] // self._count)
            rows.append((min(index * most, shape[0]), min((index + 1) * most, shape[0])))
        return rows
