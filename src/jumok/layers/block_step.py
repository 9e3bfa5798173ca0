"""A decoder's block that takes single steps in one call of a kernel.

Its readable twin is `Block.forward` in `jumok.layers.block`.
"""

import torch.nn.functional as F
from torch import nn

from jumok.attention.cache import KeyValueCache, by_rows
from jumok.attention.masks import AttentionMask
from jumok.attention.multihead import MultiHeadAttention
from jumok.attention.observe import Attention
from jumok.kernels import native, step
from jumok.kernels.packed import AT_WORK, Look
from jumok.kernels.plain import Untouched
from jumok.kernels.step_part import weights_for_step
from jumok.shapes import Bool, Float, Tensor


class BlockStep:
    """The modules of a block, with their weights laid out for few rows.

    Args:
        block: the observers of its attentions receive the weights.
        weights: what its parts gave.
        untouched: the modules inside the block, to notice changes.
    """

    def __init__(
        self,
        block: nn.Module,
        weights: step.BlockWeights,
        sizes: step.BlockWidths,
        untouched: Untouched,
    ) -> None:
        self._block, self._weights, self._untouched = block, weights, untouched
        self._kernel = step.StepKernel(weights, sizes)
        own, crossing = block.self_attention, block.cross_attention
        assert isinstance(own, MultiHeadAttention)
        assert crossing is None or isinstance(crossing, MultiHeadAttention)
        self._own, self._crossing = own, crossing

    def is_true(self, look: Look | None) -> bool:
        """Whether the block still computes what the kernel does, with the same weights."""
        return self._untouched.is_true(look) and weights_of(self._block) == self._weights

    def serves(self, stream: Float[Tensor, "batch new dim"]) -> bool:
        """Whether the kernel can take this step: few rows, no hooks and no interventions."""
        return (
            step.serves(stream)
            and stream.dtype == self._kernel.dtype
            and self._untouched.unhooked
            and self._own.unchanged
            and (self._crossing is None or self._crossing.unchanged)
        )

    def __call__(
        self,
        stream: Float[Tensor, "batch 1 dim"],
        normed: Float[Tensor, "batch 1 dim"],
        past: KeyValueCache,
        memory: tuple[Float[Tensor, "batch heads source _"], Float[Tensor, "batch heads source _"]]
        | None,
        memory_allowed: AttentionMask | None,
    ) -> tuple[Float[Tensor, "batch 1 dim"], Float[Tensor, "batch 1 dim"]]:
        """(stream, normed) for the next block; `past` grows in place, and observers are called."""
        sizes = self._kernel.sizes
        length, dims = past.length, (sizes.head_dim, sizes.value_dim)
        room = past.extend(1, stream, stream.shape[0], sizes.heads, dims)
        stream, normed = stream.clone(), normed.clone()  # the kernel overwrites them
        rows, window = stream.shape[0], self._own.window
        first = 0 if window is None else max(0, length + 1 - window)
        seen = self._room(self._own, rows, length + 1 - first)
        crossing = None if memory is None else self._room(self._crossing, rows, memory[0].shape[2])
        real = None if memory_allowed is None else memory_allowed.forbidden_keys()
        self._kernel(stream, normed, room, length, memory, real, (seen, crossing), first)
        if seen is not None:
            key, value = (by_rows(each[: length + 1]) for each in room)
            mask = None if window is None else AttentionMask(causal=True, window=window)
            drawn = None if mask is None else mask.draw(1, length + 1, key.device)
            _tell(self._own, seen, key, value, drawn, first)
        if crossing is not None:
            assert self._crossing is not None
            assert memory is not None
            _tell(self._crossing, crossing, *memory, real)
        return stream, normed

    def _room(self, attention: MultiHeadAttention | None, rows: int, keys: int) -> step.Seen | None:
        """Space for the queries and weights that the kernel writes; None without observers."""
        if attention is None or not attention.observers:
            return None
        return self._kernel.room(rows, keys)


def _tell(
    attention: MultiHeadAttention,
    seen: step.Seen,
    key: Float[Tensor, "rows heads keys head_dim"],
    value: Float[Tensor, "rows heads keys value_dim"],
    allowed: Bool[Tensor, "#rows 1 1 keys"] | None,
    first: int = 0,
) -> None:
    """Calls the observers with queries, keys, values and weights, as `MultiHeadAttention.look`.

    Args:
        first: the key of the first weight; those before it have none.
    """
    weights = F.pad(seen.weights[..., : key.shape[2] - first], (first, 0))
    kind, scale = attention.score.kind, attention.score.scale
    for observer in attention.observers:
        observer(
            Attention(seen.query, key, value, weights, kind=kind, scale=scale, allowed=allowed)
        )


def in_one_call(block: nn.Module, stream: Float[Tensor, "batch new dim"]) -> BlockStep | None:
    """The kernel for this step of the block; None if its modules have to compute it.

    They have to if the kernel does not know a module (a subclass may do something else), if one is
    hooked, edited or trained, and outside of `Packs.at_work`, where copies of the weights cannot be
    trusted (`jumok.kernels.packed`).
    """
    packs = AT_WORK.get()
    if packs is None or block.training:
        return None
    made = packs.copy_of(block, block_step)
    return made if made is not None and made.serves(stream) else None


def block_step(block: nn.Module) -> BlockStep | None:
    """The kernel for single steps of this block; None if it does not serve one of its parts."""
    weights = None if native.library() is None else weights_of(block)
    sizes = None if weights is None else step.BlockWidths.of(weights)
    untouched = Untouched(block)
    if weights is None or sizes is None or not untouched.is_true(None):
        return None
    return BlockStep(block, weights, sizes, untouched)


def weights_of(block: nn.Module) -> step.BlockWeights | None:
    """What the parts of the block give to the kernel; None: one of them gives nothing."""
    own = weights_for_step(block.self_attention, step.AttentionWeights)
    after_own = weights_for_step(block.after_self, step.ResidualWeights)
    feedforward = weights_for_step(block.feedforward, step.FeedForwardWeights)
    last = weights_for_step(block.after_feedforward, step.ResidualWeights)
    if own is None or after_own is None or feedforward is None or last is None:
        return None
    cross = weights_for_step(block.cross_attention, step.AttentionWeights)
    after_cross = weights_for_step(block.after_cross, step.ResidualWeights)
    if block.cross_attention is not None and (cross is None or after_cross is None):
        return None
    return step.BlockWeights(own, after_own, cross, after_cross, feedforward, last)
