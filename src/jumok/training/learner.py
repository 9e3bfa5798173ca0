"""The training step: forward, backward, clip, optimizer, average.

The micro-batches of a step are divided into shares, whose gradients are summed in a fixed order:
the number of shares decides the bits, and that of threads and processes does not. On a CPU a thread
has one core: two small products in parallel are faster than one split in two.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import torch
from torch import nn

from jumok.config import TrainingConfig
from jumok.data.pairs.batches import on_device
from jumok.data.planned import Planned, collated
from jumok.layers.experts import record_balance
from jumok.shapes import Float, Tensor
from jumok.training.devices.cuda_graphs import CudaGraphs, by_cuda
from jumok.training.devices.memory import memory_explained, recompute
from jumok.training.devices.prefetch import prefetch
from jumok.training.optimization.sharded import Sharded
from jumok.training.optimization.sliced import Sliced
from jumok.training.optimization.slices import Range
from jumok.training.optimization.weights import (
    Assignment,
    ModelReplica,
    TrainedWeights,
    TrainingSetup,
)
from jumok.training.ranks import SINGLE_PROCESS, Ranks, ShardingRanks
from jumok.training.task import MicroBatch, Objective, UpdateSource


@dataclass(frozen=True)
class Update:
    """The statistics of one step.

    Attributes:
        loss: label-smoothed, nats per target.
        tokens, source_tokens: targets and sources.
        gradient_norm: before clipping.
        skipped: the loss or the gradient was not finite, and the weights were not changed.
        balance: of the experts of mixtures (`layers/experts.py`), 1 if all are used equally, a mean
            over layers and targets; None: there are none. The loss does not contain it.
    """

    loss: float
    tokens: int
    source_tokens: int
    gradient_norm: float
    skipped: bool
    balance: float | None = None


class Learner:
    """A model in training.

    Args:
        model: trained in place.
        seed: of the dropout masks, together with the step: there is no random state to save.
        precision: of products and activations.
        shares: of the micro-batches of a step, a power of two.
        threads: the micro-batches computed in parallel (CPU).
        ranks: a power of two, at most as many as shares, of which each computes those with its own
            number modulo theirs. All call the same methods in the same order.
        device: None: where the model is.

    Attributes:
        recorded: passes that a GPU repeats by a single call; None: none are recorded.
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
        ranks: Ranks = SINGLE_PROCESS,
        device: torch.device | None = None,
    ) -> None:
        self._config, self._seed = config, seed
        if config.recompute:
            recompute(model)
        self._count, self._ranks = shares, ranks
        setup = TrainingSetup(model, objective, config, precision, shares, threads)
        own_device = next(model.parameters()).device if device is None else device
        self._weights: TrainedWeights
        if is_sharded(config, ranks):
            assert isinstance(ranks, ShardingRanks)
            self._weights = Sharded(setup, ranks, own_device)
        else:
            model.to(own_device)
            self._weights = Sliced(setup, ranks)
        self.recorded: CudaGraphs | None = None
        if config.cuda_graphs and own_device.type == "cuda" and not is_sharded(config, ranks):
            self.recorded = CudaGraphs(by_cuda(own_device))

    def prefetch(self, updates: UpdateSource) -> UpdateSource:
        """The updates, made ahead where that keeps the device busy."""
        return prefetch(updates, self._weights.device, self._own)

    def update(
        self, batches: Sequence[MicroBatch | Planned[MicroBatch]], step: int, learning_rate: float
    ) -> Update:
        """One step, counted from 1, on all `batches`; each process collates its own only."""
        assignments = self._assignments(batches)
        own = {index: collated(batches[index]) for index in self._own(batches)}
        tokens, sources = self._total(
            own[assignment.index]
            for share in assignments
            for assignment in share
            if assignment.counts
        )
        with memory_explained(self._config, self._weights.device):
            sums = self._backward(own, assignments, step, 1.0 / tokens)
        norms = self._weights.sum_gradients()
        # The only numbers of a step that are read: a GPU is waited for once.
        read = torch.cat([sums.T.flatten(), norms.double()]).cpu().tolist()
        # fsum rounds once, so the order of the shares and of the blocks does not matter.
        loss = math.fsum(read[: self._count])
        balance = math.fsum(read[self._count : 2 * self._count])
        norm = math.sqrt(math.fsum(value * value for value in read[2 * self._count :]))
        finite = math.isfinite(norm) and math.isfinite(loss)
        if finite:
            clip = self._config.clip
            scale = clip / norm if clip is not None and norm > clip else None
            self._weights.step(scale, step, learning_rate)
        return Update(
            loss=loss / tokens,
            tokens=tokens,
            source_tokens=sources,
            gradient_norm=norm,
            skipped=not finite,
            balance=balance / tokens or None,  # it is never 0 where there are experts
        )

    def snapshot(self) -> None:
        self._weights.snapshot()

    def averaged(self) -> nn.Module:
        """See `TrainedWeights.averaged`."""
        return self._weights.averaged()

    def weights(self) -> dict[str, Tensor]:
        return self._weights.named()

    def state(self) -> dict[str, Tensor]:
        return self._weights.state()

    def ranges(self, name: str) -> list[Range] | None:
        return self._weights.ranges(name)

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        self._weights.load_state(state)

    def _assignments(
        self, batches: Sequence[MicroBatch | Planned[MicroBatch]]
    ) -> list[list[Assignment]]:
        return self._weights.assign(
            balance_micro_batches([batch.work for batch in batches], self._count)
        )

    def _own(self, batches: Sequence[MicroBatch | Planned[MicroBatch]]) -> list[int]:
        return [
            *dict.fromkeys(
                assignment.index for share in self._assignments(batches) for assignment in share
            )
        ]

    def _total(self, own: Iterable[MicroBatch]) -> tuple[int, int]:
        targets, sources = 0, 0
        for batch in own:
            targets, sources = targets + batch.targets, sources + batch.sources
        if self._ranks.count == 1:
            return targets, sources
        counts = self._ranks.all_gather(torch.tensor([targets, sources]))
        targets, sources = torch.stack(list(counts)).sum(dim=0).tolist()
        return targets, sources

    def _backward(
        self,
        batches: Mapping[int, MicroBatch],
        assignments: Sequence[Sequence[Assignment]],
        step: int,
        scale: float,
    ) -> Float[Tensor, "shares 2"]:
        device = self._weights.device

        def compute(replica: ModelReplica, assignment: Assignment) -> Tensor:
            replica.noise.rekey(self._seed, step, assignment.index)
            batch = on_device(batches[assignment.index], device)
            passes = partial(self._passes, replica)
            if self.recorded is not None:
                return self.recorded.compute(replica, batch, scale, passes)
            sums = passes(batch, scale if assignment.counts else 0.0)
            return sums if assignment.counts else torch.zeros_like(sums)

        return torch.cat(list(self._ranks.all_gather(self._weights.backward(assignments, compute))))

    def _passes(
        self, replica: ModelReplica, batch: MicroBatch, scale: float | Tensor
    ) -> Float[Tensor, "2"]:
        """Adds up the gradients in place; returns the summed loss and balance in float64."""
        with record_balance(replica.model) as balance:
            loss = replica.loss(batch, self._config.label_smoothing)
        sums = torch.zeros(2, dtype=torch.float64, device=loss.device)
        sums[0] += loss.detach()
        if balance.term is not None and balance.mean is not None:
            loss = loss + balance.term * batch.targets
            sums[1] += balance.mean.detach() * batch.targets
        (loss * scale).backward()
        return sums


def is_sharded(config: TrainingConfig, ranks: Ranks) -> bool:
    """Whether the processes divide every parameter; one has nothing to divide."""
    return config.sharding == "full" and ranks.count > 1


def balance_micro_batches(work: Sequence[int], shares: int) -> list[list[int]]:
    """The indices of the micro-batches of each share: largest first, always to the share with the
    least work.

    The second half of the shares is filled from its end, so that a process that computes every
    second share, or every fourth, has a small one with each large one.
    """
    divided: list[list[int]] = [[] for _ in range(shares)]
    loads = [0] * shares
    order = [*range(shares // 2), *reversed(range(shares // 2, shares))]
    for index in sorted(range(len(work)), key=lambda i: -work[i]):
        share = min(order, key=loads.__getitem__)
        divided[share].append(index)
        loads[share] += work[index]
    return divided
