"""One step of decoding through a block in one call: the time that is left is to read the weights.

A step of a few rows is many small operations. In torch each of them takes 10 to 30 microseconds
before it begins, and the weights are laid out for large products.
"""

import ctypes
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import nn

from jumok.kernels import native
from jumok.kernels.linear import Linear
from jumok.shapes import Bool, Float, Tensor

PANEL = 32
ROWS = 256
"""Rows beyond which large products are as fast; divided by the threads that those would have."""


class AttentionWeights(NamedTuple):
    """The projections of an attention whose heads are compared as they are."""

    query: Linear
    key: Linear
    value: Linear
    output: Linear
    heads: int
    scale: float


class FeedForwardWeights(NamedTuple):
    """outer(relu(inner(x)))."""

    inner: Linear
    outer: Linear


class ResidualWeights(NamedTuple):
    """The norm after a part, and whether the stream itself is normalised."""

    norm: nn.LayerNorm
    epsilon: float
    post: bool

    @classmethod
    def of(cls, norm: object, *, post: bool) -> "ResidualWeights | None":
        """None: the kernel does not have this norm."""
        if type(norm) is not nn.LayerNorm or norm.weight is None or norm.bias is None:
            return None
        return cls(norm, norm.eps, post)


class BlockWeights(NamedTuple):
    """What the parts of a decoder's block gave; both of `cross` are None without a Memory."""

    self_attention: AttentionWeights
    after_self: ResidualWeights
    cross_attention: AttentionWeights | None
    after_cross: ResidualWeights | None
    feedforward: FeedForwardWeights
    after_feedforward: ResidualWeights

    @property
    def attentions(self) -> list[AttentionWeights]:
        """The one or the two attentions."""
        return [each for each in (self.self_attention, self.cross_attention) if each is not None]

    @property
    def residuals(self) -> list[ResidualWeights]:
        """What follows the parts."""
        after = self.after_self, self.after_cross, self.after_feedforward
        return [each for each in after if each is not None]


class BlockWidths(NamedTuple):
    """The widths of a block, in the order in which the kernel reads them."""

    dim: int
    heads: int
    head_dim: int
    value_dim: int
    hidden: int
    post_norm: bool

    @classmethod
    def of(cls, block: BlockWeights) -> "BlockWidths | None":
        """The widths; None: they are not those of a block that the kernel computes.

        It has one width of heads in both attentions, a key for each query's head, one scale, and
        one order and epsilon of norms; all widths are multiples of a vector.
        """
        first, (inner, outer) = block.self_attention, block.feedforward
        after, heads = block.after_self, first.heads
        key_width, dim = first.query.weight.shape
        value_width, hidden = first.value.weight.shape[0], inner.weight.shape[0]
        shapes = {
            "query": (key_width, dim),
            "key": (key_width, dim),
            "value": (value_width, dim),
            "output": (dim, value_width),
        }
        fits = (
            all(
                getattr(each, name).weight.shape == shape
                for each in block.attentions
                for name, shape in shapes.items()
            )
            and all((each.heads, each.scale) == (heads, first.scale) for each in block.attentions)
            and all(each[1:] == after[1:] for each in block.residuals)
            and all(each.norm.weight.shape == (dim,) for each in block.residuals)
            and outer.weight.shape == (dim, hidden)
            and inner.weight.shape[1] == dim
            and key_width % heads == value_width % heads == 0
        )
        sizes = cls(dim, heads, key_width // heads, value_width // heads, hidden, after.post)
        widths = sizes.dim, sizes.head_dim, sizes.value_dim, sizes.hidden
        return sizes if fits and not any(width % native.LANES for width in widths) else None


class Seen(NamedTuple):
    """The queries and weights of an attention, written for its observers; rows are padded."""

    query: Float[Tensor, "rows heads 1 head_dim"]
    weights: Float[Tensor, "rows heads 1 padded_keys"]


class StepKernel:
    """The weights of a decoder's block, laid out for single steps."""

    def __init__(self, block: BlockWeights, sizes: BlockWidths) -> None:
        own, cross, layers = block.self_attention, block.cross_attention, block.feedforward
        ordered = [
            *map(_panels, own[:4]),
            _norm(block.after_self),
            _panels(None if cross is None else cross.query),
            _panels(None if cross is None else cross.output),
            _norm(block.after_cross),
            *map(_panels, layers),
            _norm(block.after_feedforward),
        ]
        self._kept = ordered  # the kernel has only the addresses
        flat = [_address(tensor) for pair in ordered for tensor in pair]
        self._weights = (ctypes.c_int64 * len(flat))(*flat)
        self.sizes, self.dtype = sizes, own.query.weight.dtype
        self._epsilon, self._scale = block.after_self.epsilon, own.scale

    def __call__(
        self,
        stream: Float[Tensor, "rows 1 dim"],
        normed: Float[Tensor, "rows 1 dim"],
        past: tuple[Float[Tensor, "room rows heads _"], Float[Tensor, "room rows heads _"]],
        length: int,
        memory: tuple[Float[Tensor, "rows heads source _"], Float[Tensor, "rows heads source _"]]
        | None,
        allowed: Bool[Tensor, "#rows 1 1 source"] | None,
        seen: tuple[Seen | None, Seen | None] = (None, None),
        first: int = 0,
    ) -> None:
        """Changes `stream` and `normed` in place, and writes the key and value of this position.

        Args:
            past: room for the keys and values of all positions.
            length: the number of positions so far.
            allowed: which positions of the Memory may be attended to.
            seen: space for the queries and weights of the self-attention and the cross-attention,
                made by `room`; None: they are not written.
            first: the first of all positions that this one attends to.
        """
        rows = stream.shape[0]
        key, value = memory if memory is not None else (None, None)
        mask = None if allowed is None else allowed.expand(rows, 1, 1, -1)
        if mask is not None and mask.stride(-1) != 1:
            mask = mask.contiguous()
        places = (ctypes.c_int64 * 19)(
            past[0].data_ptr(), past[1].data_ptr(), _address(key), _address(value), _address(mask),
            0 if mask is None else mask.stride(0), first, length,
            0 if key is None else key.shape[2],
            *_strides(key), *_strides(value), *_addresses(seen[0]), *_addresses(seen[1]),
        )  # fmt: skip
        sizes = (ctypes.c_int64 * 7)(rows, *self.sizes)
        native.call(
            "block_step", self.dtype, self._weights, places, sizes, stream, normed, self._epsilon,
            self._scale,
        )  # fmt: skip

    def room(self, rows: int, keys: int) -> Seen:
        """Space for the queries and weights of this number of rows and keys."""
        heads, width = self.sizes.heads, keys + -keys % native.LANES
        return Seen(
            torch.empty(rows, heads, 1, self.sizes.head_dim, dtype=self.dtype),
            torch.empty(rows, heads, 1, width, dtype=self.dtype),
        )


def serves(stream: Float[Tensor, "rows new dim"]) -> bool:
    """Whether the kernel is the better choice for a step of this number of rows."""
    return (
        stream.shape[1] == 1
        and 0 < stream.shape[0] * torch.get_num_threads() <= ROWS
        and not torch.is_grad_enabled()
        and native.serves(stream)
    )


def _panels(layer: Linear | None) -> tuple[Tensor | None, Tensor | None]:
    """Weights as panels of 32 outputs, pairs of inputs side by side in bfloat16; and the bias."""
    if layer is None:
        return None, None
    weight = layer.weight.detach()
    bias = weight.new_zeros(len(weight)) if layer.bias is None else layer.bias.detach()
    pair = 2 if weight.dtype == torch.bfloat16 else 1
    missing = -weight.shape[0] % PANEL
    whole = F.pad(weight, (0, 0, 0, missing))
    panels = whole.view(-1, PANEL, whole.shape[1] // pair, pair).transpose(1, 2).contiguous()
    return panels, F.pad(bias.float(), (0, missing)).contiguous()


def _norm(after: ResidualWeights | None) -> tuple[Tensor | None, Tensor | None]:
    return (None, None) if after is None else (after.norm.weight.detach(), after.norm.bias.detach())


def _address(tensor: Tensor | None) -> int:
    return 0 if tensor is None else tensor.data_ptr()


def _addresses(seen: Seen | None) -> tuple[int, int]:
    return (0, 0) if seen is None else (seen.query.data_ptr(), seen.weights.data_ptr())


def _strides(tensor: Tensor | None) -> tuple[int, ...]:
    return (0, 0, 0) if tensor is None else tensor.stride()[:3]
