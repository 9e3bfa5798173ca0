"""A decoder's block, made ready to take single steps in one call of a kernel.

Its readable twin is `Block.step` in `jumok.layers.block`.
"""

from collections.abc import Sequence

from torch import nn

from jumok.attention.cache import KeyValueCache
from jumok.attention.multihead import MultiHeadAttention
from jumok.kernels import native, step
from jumok.kernels.activation import relu_dropout
from jumok.kernels.linear import PackedLinear
from jumok.layers.feedforward import FeedForward
from jumok.layers.residual import PostNorm, PreNorm
from jumok.shapes import Bool, Float, Tensor


class BlockStep:
    """The parts of a block, with their weights laid out for few rows.

    Args:
        attentions: those whose weights the kernel knows.
    """

    def __init__(self, attentions: Sequence[MultiHeadAttention], kernel: step.StepKernel) -> None:
        self._attentions, self._kernel = attentions, kernel

    def serves(self, stream: Float[Tensor, "batch new dim"]) -> bool:
        """Whether this step can be made here: few rows, and nobody watches or intervenes."""
        return (
            step.serves(stream)
            and stream.dtype == self._kernel.dtype
            and all(each.left_alone for each in self._attentions)
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
        """(stream, normed) for the next block; `past` grows in place."""
        sizes = self._kernel.sizes
        length, dims = past.length, (sizes.head_dim, sizes.value_dim)
        room = past.extend(1, stream, stream.shape[0], sizes.heads, dims)
        stream, normed = stream.clone(), normed.clone()  # the kernel writes into them
        self._kernel(stream, normed, room, length, memory, memory_allowed)
        return stream, normed


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
    return BlockStep(attentions, step.StepKernel(packed, norms, sizes))
