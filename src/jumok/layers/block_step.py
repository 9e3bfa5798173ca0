"""A decoder's block, made ready to take single steps in one call of a kernel.

Its readable twin is `Block.step` in `jumok.layers.block`.
"""

from torch import nn

from jumok.attention.cache import KeyValueCache, by_rows
from jumok.attention.multihead import MultiHeadAttention
from jumok.attention.observe import Attention
from jumok.kernels import native, step
from jumok.kernels.activation import relu_dropout
from jumok.kernels.linear import PackedLinear
from jumok.layers.feedforward import FeedForward
from jumok.layers.residual import PostNorm, PreNorm
from jumok.shapes import Bool, Float, Tensor


class BlockStep:
    """The parts of a block, with their weights laid out for few rows.

    Args:
        self_attention, cross_attention: those whose weights the kernel knows, and whose observers
            are told what was looked at.
    """

    def __init__(
        self,
        self_attention: MultiHeadAttention,
        cross_attention: MultiHeadAttention | None,
        kernel: step.StepKernel,
    ) -> None:
        self._own, self._crossing, self._kernel = self_attention, cross_attention, kernel

    def serves(self, stream: Float[Tensor, "batch new dim"]) -> bool:
        """Whether this step can be made here: few rows, and nobody intervenes."""
        return (
            step.serves(stream)
            and stream.dtype == self._kernel.dtype
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
        """(stream, normed) for the next block; `past` grows in place, and observers are told."""
        sizes = self._kernel.sizes
        length, dims = past.length, (sizes.head_dim, sizes.value_dim)
        room = past.extend(1, stream, stream.shape[0], sizes.heads, dims)
        stream, normed = stream.clone(), normed.clone()  # the kernel writes into them
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
        """Where the kernel writes down what was looked with; None where nobody watches."""
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
    """As `MultiHeadAttention.look` does: what was looked with, and at what."""
    weights = seen.weights[..., : key.shape[2]]
    scale = key.shape[3] ** -0.5
    for observer in attention.observers:
        observer(Attention(seen.query, key, value, weights, scale=scale, allowed=allowed))


def block_step(
    self_attention: MultiHeadAttention,
    after_self: PreNorm,
    cross_attention: MultiHeadAttention | None,
    after_cross: nn.Module,
    feedforward: FeedForward,
    after_feedforward: PreNorm,
) -> BlockStep | None:
    """The block made of these parts; None where the kernel does not know one of them.

    A subclass may do something else, so that it is not known.
    """
    attentions = [self_attention]
    crossing: list[nn.Module | None] = [None, None]
    if cross_attention is not None:
        attentions.append(cross_attention)
        crossing = [cross_attention.query, cross_attention.output]
    read = [self_attention.query, self_attention.key, self_attention.value, self_attention.output]
    layers = [*read, *crossing, feedforward.inner, feedforward.outer]
    between = [
        after_self,
        *([after_cross] if cross_attention is not None else []),
        after_feedforward,
    ]
    packed = [layer if isinstance(layer, PackedLinear) else None for layer in layers]
    if (
        native.library() is None
        or [layer is None for layer in packed] != [layer is None for layer in layers]
        or any(each.rotate is not None or each.bias is not None for each in attentions)
        or {type(each) for each in attentions} != {MultiHeadAttention}
        or {type(each) for each in between} not in ({PreNorm}, {PostNorm})
        or feedforward.activation is not relu_dropout
    ):
        return None
    sizes = step.sizes_of(packed, self_attention.heads, isinstance(after_self, PostNorm))
    if any(width % native.LANES for width in sizes.widths):
        return None
    crossed = after_cross.norm if isinstance(after_cross, PreNorm) else None
    norms = [after_self.norm, crossed, after_feedforward.norm]
    kernel = step.StepKernel(packed, norms, sizes)
    return BlockStep(self_attention, cross_attention, kernel)
