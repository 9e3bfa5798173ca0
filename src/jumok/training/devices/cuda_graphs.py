"""CUDA graphs: forward and backward passes that a GPU records, and repeats by a single call.

Asking for the thousand small kernels of a micro-batch one by one takes longer than computing many
of them. A recorded pass always reads and writes the same memory, so a batch, the factor of the loss
and the seeds of the dropout masks are copied there. It serves for batches of the same shape only
(`training.batches = "packed"`).
"""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, is_dataclass
from functools import cached_property
from itertools import chain

import torch
from torch import nn
from torch.utils.hooks import RemovableHandle

from jumok.attention.events import any_listeners
from jumok.attention.overrides import any_overrides
from jumok.data.pairs.batches import with_tensors
from jumok.kernels.noise import seeds_of
from jumok.kernels.plain import acting, hooks_of
from jumok.layers.experts import MixtureOfExperts
from jumok.shapes import Float, Int, Tensor
from jumok.training.devices.memory import first_sentences
from jumok.training.optimization.weights import ModelReplica
from jumok.training.task import MicroBatch

MOST_RECORDED = 4
"""Recorded shapes; the activations of each stay in the memory of the GPU."""
BEFORE = 2
"""BothPasses of a shape that are computed before one is recorded: they compile, and fill caches."""
MOST_COUNTED_SHAPES = 1000
"""Shapes that are counted; batches of exact lengths have many, and none comes again soon."""
COUNTS = "targets", "sources"
"""Numbers of a batch that neither the objectives nor the models compute with."""

Work = Callable[[], Float[Tensor, "2"]]
BothPasses = Callable[[MicroBatch, float | Tensor], Float[Tensor, "2"]]
"""Both passes of a batch on the device, given the factor of its loss; the gradients are added up in
place."""

Record = Callable[[Work], tuple[Callable[[], None], Float[Tensor, "2"]]]
"""Gives what computes the work again, and where its result then is."""


@dataclass(frozen=True)
class ShapeCount:
    """How often a shape was computed, and how many dropout masks it takes."""

    times: int = 0
    masks: int = 0


@dataclass(frozen=True)
class Recorded:
    """The passes of one shape.

    Attributes:
        batch, scale, key: where they read the micro-batch, the factor of the loss, and the key of
            the dropout masks.
        again: computes the passes.
        sums: their result.
    """

    batch: MicroBatch
    scale: Float[Tensor, ""]
    key: Int[Tensor, ""]
    again: Callable[[], None]
    sums: Float[Tensor, "2"]


class CudaGraphs:
    """Records the passes of shapes that come again; on a GPU, `record` is `by_cuda`."""

    def __init__(self, record: Record) -> None:
        self._record = record
        self._seen: dict[object, ShapeCount] = {}
        self._recorded: dict[object, Recorded] = {}
        self._given_up = False
        self._quiet_at: object = None

    def __len__(self) -> int:
        return len(self._recorded)

    def compute(
        self, replica: ModelReplica, batch: MicroBatch, scale: float, passes: BothPasses
    ) -> Float[Tensor, "2"]:
        """The result of `passes`, which are the same every time, recorded if that is possible."""
        if self._given_up or not self._recordable(replica.model):
            return passes(batch, scale)
        shape = id(replica.model), _fixed_parts(batch)
        graph = self._recorded.get(shape)
        if graph is None:
            seen = self._seen.get(shape, ShapeCount())
            if seen.times < BEFORE or len(self._recorded) == MOST_RECORDED:
                sums = passes(batch, scale)
                if seen.times or len(self._seen) < MOST_COUNTED_SHAPES:
                    self._seen[shape] = ShapeCount(seen.times + 1, replica.noise.calls)
                return sums
            try:
                graph = self._recorded[shape] = self._new(replica, batch, passes, seen.masks)
            except RuntimeError as error:  # a part of a model waits for the GPU, or it is full
                warnings.warn(
                    "the passes of this model cannot be recorded, and are computed without that: "
                    f"{first_sentences(str(error))} (training.cuda_graphs = false does not try)",
                    stacklevel=2,
                )
                self._given_up = True
                return passes(batch, scale)
        for buffer, tensor in zip(_tensors_in(graph.batch), _tensors_in(batch), strict=True):
            buffer.copy_(tensor)
        graph.scale.fill_(scale)
        graph.key.fill_(replica.noise.key)
        graph.again()
        return graph.sums.clone()

    def _recordable(self, model: nn.Module) -> bool:
        """Whether a recorded pass would do all that this one does: no listeners, changes or hooks
        in this context, and no experts, whose shares the host reads.
        """
        if any_listeners() or any_overrides():
            return False
        now = id(model), RemovableHandle.next_id  # counts all hooks that were ever registered
        if now == self._quiet_at:
            return True
        experts = any(isinstance(module, MixtureOfExperts) for module in model.modules())
        if not experts and not hooks_of(model):
            self._quiet_at = now
            return True
        return not (experts or any(map(acting, hooks_of(model))))

    def _new(
        self, replica: ModelReplica, batch: MicroBatch, passes: BothPasses, masks: int
    ) -> Recorded:
        device = next(_tensors_in(batch)).device
        buffers = with_tensors(batch, Tensor.clone)
        scale = torch.zeros((), device=device)
        key = torch.zeros((), dtype=torch.int64, device=device)

        def run() -> Float[Tensor, "2"]:
            with replica.noise.seeded(seeds_of(key, masks)):
                return passes(buffers, scale)

        return Recorded(buffers, scale, key, *self._record(run))


def _fixed_parts(batch: object) -> tuple[object, ...]:
    """What a batch shares with a recorded one: all but the numbers in tensors, and counts."""
    return tuple(
        (name, _fixed_parts(value))
        if is_dataclass(value)
        else (name, value.shape, value.dtype)
        if isinstance(value, Tensor)
        else (name, value)
        for name, value in _own_fields(batch)
        if name not in COUNTS
    )


def _tensors_in(batch: object) -> Iterator[Tensor]:
    """All tensors of a batch, also of the dataclasses that it is made of."""
    for _, value in _own_fields(batch):
        if isinstance(value, Tensor):
            yield value
        elif is_dataclass(value):
            yield from _tensors_in(value)


def _own_fields(batch: object) -> Iterator[tuple[str, object]]:
    """The fields of a batch, and what it computes once."""
    kinds = vars(type(batch)).items()
    once = [name for name, value in kinds if isinstance(value, cached_property)]
    own = ((name, value) for name, value in vars(batch).items() if name not in once)
    return chain(own, ((name, getattr(batch, name)) for name in once))


def by_cuda(device: torch.device) -> Record:
    """Records CUDA graphs, which share their memory: only one of them computes at a time."""
    pool = torch.cuda.graph_pool_handle()

    def record(work: Work) -> tuple[Callable[[], None], Float[Tensor, "2"]]:
        graph = torch.cuda.CUDAGraph()
        # "thread_local": the thread that makes the next batches pins their memory meanwhile.
        with (
            torch.cuda.device(device),
            torch.cuda.graph(graph, pool=pool, capture_error_mode="thread_local"),
        ):
            sums = work()
        return graph.replay, sums

    return record
