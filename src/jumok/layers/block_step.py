"""A decoder's block that takes single steps in one call of a kernel.

Its readable twin is `Block.forward` in `jumok.layers.block`.
"""

from typing import Any, NamedTuple

from torch import nn

from jumok.attention.cache import KeyValueCache, by_rows
from jumok.attention.multihead import MultiHeadAttention
from jumok.attention.observe import Attention
from jumok.kernels import native, step
from jumok.kernels.activation import relu_dropout
from jumok.kernels.linear import Linear
from jumok.kernels.packed import AT_WORK, Look, can_be_packed
from jumok.kernels.plain import Untouched
from jumok.layers.feedforward import FeedForward
from jumok.layers.residual import PostNorm, PreNorm
from jumok.shapes import Bool, Float, Tensor


class Parts(NamedTuple):
    """The modules of a block."""

    self_attention: MultiHeadAttention
    after_self: PreNorm
    cross_attention: MultiHeadAttention | None
    after_cross: nn.Module
    feedforward: FeedForward
    after_feedforward: PreNorm

    @property
    def attentions(self) -> list[MultiHeadAttention]:
        return [each for each in (self.self_attention, self.cross_attention) if each is not None]

    @property
    def between(self) -> list[Any]:
        """The modules after each part."""
        crossed = [] if self.cross_attention is None else [self.after_cross]
        return [self.after_self, *crossed, self.after_feedforward]

    @property
    def layers(self) -> list[nn.Module | None]:
        """In the order of `StepKernel`'s arguments."""
        own, crossing = self.self_attention, self.cross_attention
        crossed = [None, None] if crossing is None else [crossing.query, crossing.output]
        read = [own.query, own.key, own.value, own.output]
        return [*read, *crossed, self.feedforward.inner, self.feedforward.outer]


class BlockStep:
    """The modules of a block, with their weights laid out for few rows.

    Args:
        parts: the modules whose weights the kernel has; the observers of its attentions receive the
            weights.
        untouched: the modules inside the block, to notice changes.
    """

    def __init__(self, parts: Parts, kernel: step.StepKernel, untouched: Untouched) -> None:
        self._parts, self._kernel, self._untouched = parts, kernel, untouched
        self._own, self._crossing = parts.self_attention, parts.cross_attention

    def is_true(self, look: Look | None) -> bool:
        """Whether the block still computes what the kernel does, with the same weights."""
        return (
            self._untouched.is_true(look)
            and known(self._parts)
            and self._kernel.sizes.heads == self._own.heads
            and self._kernel.epsilon == self._parts.after_self.norm.eps
        )

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
        memory_allowed: Bool[Tensor, "#batch 1 1 source"] | None,
    ) -> tuple[Float[Tensor, "batch 1 dim"], Float[Tensor, "batch 1 dim"]]:
        """(stream, normed) for the next block; `past` grows in place, and observers are called."""
        sizes = self._kernel.sizes
        length, dims = past.length, (sizes.head_dim, sizes.value_dim)
        room = past.extend(1, stream, stream.shape[0], sizes.heads, dims)
        stream, normed = stream.clone(), normed.clone()  # the kernel overwrites them
        rows = stream.shape[0]
        seen = self._room(self._own, rows, length + 1)
        crossing = None if memory is None else self._room(self._crossing, rows, memory[0].shape[2])
        self._kernel(stream, normed, room, length, memory, memory_allowed, (seen, crossing))
        if seen is not None:
            key, value = (by_rows(each[: length + 1]) for each in room)
            _tell(self._own, seen, key, value, None)
        if crossing is not None:
            assert self._crossing is not None
            assert memory is not None
            _tell(self._crossing, crossing, *memory, memory_allowed)
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
) -> None:
    """Calls the observers with queries, keys, values and weights, as `MultiHeadAttention.look`."""
    weights = seen.weights[..., : key.shape[2]]
    scale = key.shape[3] ** -0.5
    for observer in attention.observers:
        observer(Attention(seen.query, key, value, weights, scale=scale, allowed=allowed))


FORWARDS = {
    kind: kind.forward for kind in (MultiHeadAttention, PreNorm, PostNorm, FeedForward, Linear)
}
"""The modules whose work the kernel does, with their forward methods."""


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
    """The kernel for single steps of this block; None if it does not know the block."""
    parts = Parts(*(getattr(block, name) for name in Parts._fields))
    if native.library() is None or not known(parts):
        return None
    untouched = Untouched(block)
    if not untouched.is_true(None):
        return None
    layers = [layer if isinstance(layer, Linear) else None for layer in parts.layers]
    post_norm = isinstance(parts.after_self, PostNorm)
    sizes = step.sizes_of(layers, parts.self_attention.heads, post_norm)
    if any(width % native.LANES for width in sizes.widths):
        return None
    crossed = parts.after_cross.norm if isinstance(parts.after_cross, PreNorm) else None
    norms = [parts.after_self.norm, crossed, parts.after_feedforward.norm]
    return BlockStep(parts, step.StepKernel(layers, norms, sizes), untouched)


def known(parts: Parts) -> bool:
    """Whether these modules are those whose work the kernel does."""
    if (
        {type(each) for each in parts.attentions} != {MultiHeadAttention}
        or {type(each) for each in parts.between} not in ({PreNorm}, {PostNorm})
        or type(parts.feedforward) is not FeedForward
        or parts.feedforward.activation is not relu_dropout
        or any(kind.forward is not forward for kind, forward in FORWARDS.items())
    ):
        return False
    layers = [layer for layer in parts.layers if layer is not None]
    return (
        all(type(layer) is Linear and can_be_packed(layer.weight) for layer in layers)
        and all(type(each.norm) is nn.LayerNorm for each in parts.between)
        and all(each.rotate is None and each.bias is None for each in parts.attentions)
    )
