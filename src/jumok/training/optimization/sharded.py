"""The weights in rows of every parameter, brought together block by block: FSDP2.

Each process has some rows of every float32 weight, of its gradient, its moments and its average
(`shards.py`). A block's weights are brought together when it computes, forward and backward, and
put aside again; those outside of blocks stay together for the whole micro-batch. After each
micro-batch the gradients of a block are summed over the processes, which keep their rows of them.

So all processes have to compute equally many micro-batches: whoever has fewer computes one that
belongs to another process, and its loss is multiplied by zero.

Source: Rajbhandari et al. 2020 (ZeRO-3); Zhao et al. 2023 (FSDP).
"""

import copy
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
from jumok.training.optimization.shards import Shards
from jumok.training.optimization.slices import Range
from jumok.training.optimization.weights import Compute, ModelReplica, TrainingSetup, Turn
from jumok.training.ranks import ShardingRanks
from jumok.training.task import Objective

INSTEAD = "--set training.sharding=slices"


class Lossed(nn.Module):
    """A model with its loss: the module that brings together all that is outside of blocks.

    An objective calls parts of a model and reads the output's table, so the model itself is not
    called.
    """

    def __init__(self, model: nn.Module, objective: Objective) -> None:
        super().__init__()
        self.model = model
        self._objective = objective

    def forward(self, batch: object, smoothing: float) -> Float[Tensor, ""]:
        """The loss summed over the batch's targets, in nats."""
        return self._objective(self.model, batch, smoothing)


class Sharded:
    """Rows of every parameter; all threads compute one micro-batch.

    Args:
        setup: its model is on the CPU until it is divided.
        device: on which it trains.

    Raises:
        ConfigError: the model or the recipe cannot be trained so; the text says what to do.
    """

    def __init__(self, setup: TrainingSetup, ranks: ShardingRanks, device: torch.device) -> None:
        model, config = setup.model, setup.config
        blocks = blocks_of(model)
        self._layout = FlatParameters(model)
        refuse_undivided(model, blocks, self._layout, config, ranks.count)
        self._shards = Shards(self._layout, ranks.count)
        self._ranks, self._shares, self._threads = ranks, setup.shares, setup.threads
        self.device = device
        self._betas, self._weight_decay = config.betas, config.weight_decay
        # A copy with the same buffers and no weights of its own: `averaged` fills it.
        empty = {id(each): nn.Parameter(torch.empty(0)) for each in model.parameters()}
        same = {id(each): each for each in model.buffers()}
        self._bare = copy.deepcopy(model, {**empty, **same})
        frozen = frozen_elements(model, self._layout)
        lossed = Lossed(model.train(), setup.objective)
        ranks.shard(lossed, blocks, setup.precision, device)
        if device.type == "cpu":
            give_back_freed_memory()
        self._model = model
        self._replica = ModelReplica.of(model, lossed)
        own = self._own
        self._means, self._squares = ([torch.zeros_like(each) for each in own] for _ in range(2))
        self._steps = torch.zeros((), device=device)
        self._averages = [Average(config.average, each) for each in own]
        masks = [None] * len(own) if frozen is None else self._shards.cut(frozen, ranks.index)
        self._frozen = [
            FrozenRows(None if mask is None or not mask.any() else mask.to(device), each)
            for mask, each in zip(masks, own, strict=True)
        ]
        self._gradients: list[Tensor] = []
        self._collected: Tensor | None = None

    def turns(self, places: Sequence[Sequence[int]]) -> list[list[Turn]]:
        """What each share of this process computes: as many micro-batches as any other process."""
        # If its loss is not finite, the process whose own it is finds the same.
        spare = Turn(next(share[-1] for share in places if share), counts=False)
        each = [
            [
                number
                for share in range(rank, self._shares, self._ranks.count)
                for number in places[share]
            ]
            for rank in range(self._ranks.count)
        ]
        mine = range(self._ranks.index, self._shares, self._ranks.count)
        found = [[Turn(number) for number in places[share]] for share in mine]
        missing = max(map(len, each)) - len(each[self._ranks.index])
        found[-1] += [spare] * missing
        return found

    def backward(
        self, turns: Sequence[Sequence[Turn]], compute: Compute
    ) -> Float[Tensor, "own_shares 2"]:
        """Computes the gradient, one micro-batch after another; returns what `compute` gave for
        each share, summed up.
        """
        torch.set_num_threads(self._threads)  # validation sets it to its own
        for parameter in self._model.parameters():
            parameter.grad = None
        sums = torch.zeros(len(turns), 2, dtype=torch.float64, device=self.device)
        with self._ranks.connected():
            for number, share in enumerate(turns):
                for turn in share:
                    sums[number] += compute(self._replica, turn)
        return sums

    @torch.no_grad()
    def sum_up(self) -> Float[Tensor, " norms"]:
        """The gradients have been summed up after each micro-batch; returns the norms of the rows
        that each process has of each parameter.
        """
        self._gradients = []
        for parameter, frozen in zip(self._parameters, self._frozen, strict=True):
            assert parameter.grad is not None, "FSDP2 gives every parameter a gradient"
            gradient = _rows_of(parameter.grad)
            gradient *= self._ranks.count  # FSDP2 gives the mean, and gloo no other factor
            frozen.silence(gradient)
            self._gradients.append(gradient)
        norms = torch.stack([torch.linalg.vector_norm(each) for each in self._gradients])
        return torch.cat(list(self._ranks.gather(norms)))

    @torch.no_grad()
    def step(self, scale: float | None, step: int, learning_rate: float) -> None:
        """One step of AdamW for the rows of this process."""
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
        """Adds the current weights to last-k averaging, and collects the average in the first
        process, in the memory of its processor.
        """
        own = self._own
        averaged = []
        for weights, frozen, average in zip(own, self._frozen, self._averages, strict=True):
            average.snapshot(weights)
            found = average.weights(weights)
            frozen.restore(found)
            averaged.append(found)
        self._collected = self._collect(self._joined(averaged))

    def averaged(self) -> nn.Module:
        """A float32 copy of the model in evaluation mode, with the averaged weights."""
        model = copy.deepcopy(self._bare)
        self._layout.attach(model, self._whole.clone(), None)
        return model.to(self.device).eval().requires_grad_(False)

    def named(self) -> dict[str, Tensor]:
        """The averaged weights by parameter name, in float32."""
        return self._layout.views(self._whole)

    @torch.no_grad()
    def state(self) -> dict[str, Tensor]:
        """What this process has, under the names that slices have."""
        averages = [each.state() for each in self._averages]
        return {
            "master": self._joined(self._own),
            "adamw.exp_avg": self._joined(self._means),
            "adamw.exp_avg_sq": self._joined(self._squares),
            "adamw.step": self._steps,
            "muon.momentum": torch.empty(0, device=self.device),
        } | {name: self._joined([each[name] for each in averages]) for name in averages[0]}

    def ranges(self, name: str) -> list[Range] | None:
        """What a tensor of the state holds of the row in this process; None: all have the same."""
        if name == "adamw.step":
            return None
        return [(0, 0)] if name == "muon.momentum" else self._shards.ranges(self._ranks.index)

    @torch.no_grad()
    def load_state(self, state: Mapping[str, Tensor]) -> None:
        """Restores the result of `state` bit for bit."""
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
            its = {name: some[number] for name, some in parts.items()}
            self._averages[number].load_state(its)
        self._collected = None

    @property
    def _parameters(self) -> list[nn.Parameter]:
        """In the order of the row."""
        return [self._model.get_parameter(name) for name in self._shards.names]

    @property
    def _own(self) -> list[Tensor]:
        """The rows that this process has of each parameter."""
        return [_rows_of(each.detach()) for each in self._parameters]

    @property
    def _whole(self) -> Float[Tensor, " size"]:
        """The averaged weights."""
        assert self._collected is not None, "snapshot() collects them"
        return self._collected

    def _joined(self, parts: Sequence[Tensor]) -> Float[Tensor, " own"]:
        return self._shards.joined(parts, self._ranks.index)

    def _collect(self, own: Float[Tensor, " own"]) -> Float[Tensor, " size"]:
        """The whole row in the first process, on the CPU; in the others it is empty."""
        nothing = own[:0]
        if self._ranks.index:
            self._ranks.swap(0, own, nothing)
            return nothing.cpu()
        row = torch.empty(self._layout.size)
        for rank in range(self._ranks.count):
            ranges = self._shards.ranges(rank)
            theirs = own
            if rank:
                theirs = own.new_empty(sum(end - start for start, end in ranges))
                self._ranks.swap(rank, nothing, theirs)
            parts = theirs.split([end - start for start, end in ranges])
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
    """Refuses what cannot be trained in rows of every parameter.

    Args:
        count: of the processes.

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
    outside = {id(parameter) for parameter in _outside(model, blocks)}
    seen = set(outside)
    for block in blocks:
        inside = {id(parameter) for parameter in block.parameters()}
        if shared := seen & inside:
            raise ConfigError(
                'training.sharding = "full" cannot divide a weight that several blocks share.',
                got=", ".join(sorted(names[each] for each in shared)),
                do=INSTEAD,
            )
        seen |= inside
    for name, _, shape in layout.places:
        if not shape:
            raise ConfigError(
                'training.sharding = "full" cannot divide a weight without rows.',
                got=f"{name}, which is one number",
                do=f"make it a vector of one element, or {INSTEAD}",
            )
    rows = max(shape[0] for _, _, shape in layout.places)
    most = -(-rows // count)
    if (count - 1) * most >= rows:
        raise ConfigError(
            'training.sharding = "full" gives each process some rows of the weights, and there are '
            "not enough.",
            expected=f"a row for the last of {count} processes",
            got=f"at most {rows} rows in a weight",
            do=f"start fewer processes, or {INSTEAD}",
        )


def _outside(model: nn.Module, blocks: Sequence[Block]) -> list[nn.Parameter]:
    """The parameters that modules outside of all blocks have."""
    inside = {id(module) for block in blocks for module in block.modules()}
    return [
        parameter
        for module in model.modules()
        if id(module) not in inside
        for parameter in module.parameters(recurse=False)
    ]


def _rows_of(parameter: Tensor) -> Tensor:
    """What this process has of a divided tensor."""
    rows: Tensor = parameter.to_local()  # type: ignore[attr-defined]
    return rows
