"""One step of decoding through a block in one call: the time that is left is to read the weights.

A step of a few rows is many small operations. In torch each of them takes 10 to 30 microseconds
before it begins, and the weights are laid out for large products.
"""

import ctypes
from collections.abc import Sequence
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


class BlockWidths(NamedTuple):
    """The widths of a block, in the order in which the kernel reads them."""

    dim: int
    heads: int
    head_dim: int
    value_dim: int
    hidden: int
    post_norm: bool

    @property
    def widths(self) -> tuple[int, ...]:
        """Those that have to be multiples of a vector."""
        return self.dim, self.head_dim, self.value_dim, self.hidden


def sizes_of(layers: Sequence[Linear | None], heads: int, post_norm: bool) -> BlockWidths:
    """The widths of a block of these layers, ordered as `StepKernel` takes them."""
    query, _, value, _, _, _, inner, _ = layers
    assert query is not None
    assert value is not None
    assert inner is not None
    key_width, dim = query.weight.shape
    value_width, hidden = value.weight.shape[0], inner.weight.shape[0]
    return BlockWidths(dim, heads, key_width // heads, value_width // heads, hidden, post_norm)


class Seen(NamedTuple):
    """The queries and weights of an attention, written for its observers; rows are padded."""

    query: Float[Tensor, "rows heads 1 head_dim"]
    weights: Float[Tensor, "rows heads 1 padded_keys"]


class StepKernel:
    """The weights of a decoder's block, laid out for single steps.

    Args:
        layers: query, key, value and output of the self-attention; query and output of the
            cross-attention, None where there is none; the two layers of the feed-forward.
        norms: after each of the three; the second None where there is no cross-attention.
    """

    def __init__(
        self,
        layers: Sequence[Linear | None],
        norms: Sequence[nn.LayerNorm | None],
        sizes: BlockWidths,
    ) -> None:
        *self_attention, cross_query, cross_output, inner, outer = map(_panels, layers)
        first, second, third = map(_norm, norms)
        ordered = [*self_attention, first, cross_query, cross_output, second, inner, outer, third]
        self._kept = ordered  # the kernel has only the addresses
        flat = [_address(tensor) for pair in ordered for tensor in pair]
        self._weights = (ctypes.c_int64 * len(flat))(*flat)
        norm = norms[0]
        assert norm is not None
        self.sizes, self.epsilon, self.dtype = sizes, norm.eps, norm.weight.dtype

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
    ) -> None:
        """Changes `stream` and `normed` in place, and writes the key and value of this position.

        Args:
            past: room for the keys and values of all positions.
            length: the number of positions so far.
            allowed: which positions of the Memory may be attended to.
            seen: space for the queries and weights of the self-attention and the cross-attention,
                made by `room`; None: they are not written.
        """
        rows = stream.shape[0]
        key, value = memory if memory is not None else (None, None)
        mask = None if allowed is None else allowed.expand(rows, 1, 1, -1)
        if mask is not None and mask.stride(-1) != 1:
            mask = mask.contiguous()
        places = (ctypes.c_int64 * 18)(
            past[0].data_ptr(), past[1].data_ptr(), _address(key), _address(value), _address(mask),
            0 if mask is None else mask.stride(0), length, 0 if key is None else key.shape[2],
            *_strides(key), *_strides(value), *_addresses(seen[0]), *_addresses(seen[1]),
        )  # fmt: skip
        sizes = (ctypes.c_int64 * 7)(rows, *self.sizes)
        native.call(
            "block_step", self.dtype, self._weights, places, sizes, stream, normed, self.epsilon
        )

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
    weight, bias = layer.weight.detach(), layer.bias.detach()
    pair = 2 if weight.dtype == torch.bfloat16 else 1
    missing = -weight.shape[0] % PANEL
    whole = F.pad(weight, (0, 0, 0, missing))
    panels = whole.view(-1, PANEL, whole.shape[1] // pair, pair).transpose(1, 2).contiguous()
    return panels, F.pad(bias.float(), (0, missing)).contiguous()


def _norm(norm: nn.LayerNorm | None) -> tuple[Tensor | None, Tensor | None]:
    return (None, None) if norm is None else (norm.weight.detach(), norm.bias.detach())


def _address(tensor: Tensor | None) -> int:
    return 0 if tensor is None else tensor.data_ptr()


def _addresses(seen: Seen | None) -> tuple[int, int]:
    return (0, 0) if seen is None else (seen.query.data_ptr(), seen.weights.data_ptr())


def _strides(tensor: Tensor | None) -> tuple[int, ...]:
    return (0, 0, 0) if tensor is None else tensor.stride()[:3]
