"""Linear layers: for training, with few shapes; for inference, with copies of weights laid out."""

import math
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import nn

from jumok.kernels import native
from jumok.kernels.activation import soft_cap
from jumok.kernels.card import serving
from jumok.kernels.context import Context
from jumok.kernels.packed import AT_WORK, Look, Stamp, can_be_packed
from jumok.kernels.plain import plain
from jumok.kernels.step_part import StepPart
from jumok.late import late_imports
from jumok.shapes import Float, Tensor

with late_imports():
    from jumok.kernels.card import linear as card

ROWS = 32
"""Products of bfloat16 matrices on a CPU get a multiple of this many rows.

oneDNN generates code for every new shape, which takes 1.5 ms and a megabyte, and its cache is
limited: with as many shapes as batches have lengths, that was a tenth of a training step and a
gigabyte. A copy of the rows is cheaper.
"""


def linear(
    states: Float[Tensor, "*axes inner"],
    weight: Float[Tensor, "outer inner"],
    bias: Float[Tensor, " outer"] | None,
) -> Float[Tensor, "*axes outer"]:
    """x W^T + b, and its gradients; without b if `bias` is None."""
    if states.dtype == torch.bfloat16 and torch.is_grad_enabled() and native.serves(states, weight):
        return _Linear.apply(states, weight, bias)
    if bias is not None and _learns(weight, bias) and serving.serves(states):
        return card.linear(states, weight, bias)
    return F.linear(states, weight, bias)


def linear_relu(
    states: Float[Tensor, "*axes inner"], layer: "Linear"
) -> Float[Tensor, "*axes outer"] | None:
    """max(x W^T + b, 0) in one pass; None: there is no kernel."""
    bias = layer.bias
    if bias is None or not _learns(layer.weight, bias) or not serving.serves(states):
        return None
    return card.linear(states, layer.weight, bias, bent=True) if plain(layer, Linear) else None


def linears(
    states: Float[Tensor, "*axes inner"], layers: Sequence[nn.Module]
) -> list[Float[Tensor, "*axes _"]]:
    """What each of the layers gives for the same states."""
    if serving.serves(states) and torch.is_grad_enabled():
        known = [
            (layer.weight, layer.bias)
            for layer in layers
            if isinstance(layer, Linear) and plain(layer, Linear) and layer.bias is not None
        ]
        if len(known) == len(layers) and all(_learns(*pair) for pair in known):
            return list(card.linears(states, known))
    return [layer(states) for layer in layers]


def _learns(weight: Tensor, bias: Tensor) -> bool:
    return torch.is_grad_enabled() and weight.requires_grad and bias.requires_grad


def whole_rows(states: Float[Tensor, "rows dim"]) -> Float[Tensor, "more_rows dim"]:
    """The rows, and rows of zeros up to a multiple of ROWS."""
    rows, dim = states.shape
    missing = -rows % ROWS
    if not missing:
        return states.contiguous()
    padded = states.new_empty(rows + missing, dim)
    padded[:rows] = states
    padded[rows:] = 0
    return padded


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Context, states: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        padded = whole_rows(states.flatten(0, -2))
        ctx.save_for_backward(padded, weight)
        ctx.biased = bias is not None
        rows = states.shape[:-1]
        return F.linear(padded, weight, bias)[: rows.numel()].view(*rows, -1)

    @staticmethod
    def backward(ctx: Context, slope: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
        padded, weight = ctx.saved_tensors
        rows = slope.shape[:-1]
        slope = whole_rows(slope.flatten(0, -2))
        d_states = (slope @ weight)[: rows.numel()].view(*rows, -1)
        return d_states, slope.t() @ padded, _sum_rows(slope) if ctx.biased else None


def _sum_rows(states: Float[Tensor, "rows dim"]) -> Float[Tensor, " dim"]:
    if states.shape[1] % native.LANES:
        return states.sum(dim=0)
    sums = states.new_empty(states.shape[1])
    native.call("sum_rows", states.dtype, states, sums, *states.shape)
    return sums


class Linear(nn.Linear, StepPart):
    """y = x W^T + b, with Xavier's uniform initialisation and biases of zero; b may be missing.

    Attributes:
        stacked: the number of matrices of equal height that W consists of, one above the other.

    Source: Glorot and Bengio 2010, formula 16.
    """

    stacked: int = 1

    def forward(self, states: Float[Tensor, "*axes inner"]) -> Float[Tensor, "*axes outer"]:
        """x W^T + b."""
        packed = packed_weight(self, states)
        if packed is not None:
            return packed_linear(states, packed, self.bias)
        return linear(states, self.weight, self.bias)

    def reset_parameters(self) -> None:
        """Initialises the weights again."""
        bound = math.sqrt(6.0 / (self.in_features + self.out_features))
        with torch.no_grad():
            self.weight.uniform_(-bound, bound)
            if self.bias is not None:
                self.bias.zero_()

    def step_weights(self) -> "Linear | None":
        """The layer itself, if its weight is a tensor that can be copied."""
        weight = self._parameters.get("weight")
        return self if weight is not None and native.serves(weight) else None


class Projection(nn.Module):
    """States to logits, by a table that an embedding may share; no bias.

    Attributes:
        cap: the soft cap of the logits (`soft_cap`); None: they are not capped.
    """

    def __init__(self, table: nn.Parameter, cap: float | None = None) -> None:
        super().__init__()
        self.weight = table
        self.cap = cap

    def forward(self, states: Float[Tensor, "*axes dim"]) -> Float[Tensor, "*axes vocabulary"]:
        """The dot product of each state with each row of the table, capped if there is a cap."""
        packed = packed_weight(self, states)
        logits = F.linear(states, self.weight) if packed is None else packed_linear(states, packed)
        return logits if self.cap is None else soft_cap(logits, self.cap)


def packed_linear(
    states: Float[Tensor, "*axes inner"],
    weight: Tensor,
    bias: Float[Tensor, " outer"] | None = None,
) -> Float[Tensor, "*axes outer"]:
    """x W^T + b, for a weight that oneDNN has laid out.

    The gain over `linear` at 32 rows is 1.2 to 2 in float32 and more in bfloat16.
    """
    return torch.ops.mkldnn._linear_pointwise(states, weight, bias, "none", [], "")


def packed_weight(layer: Linear | Projection, states: Tensor) -> Tensor | None:
    """The layer's weight in oneDNN's fastest layout; None if the plain one is to be used.

    The plain one is used if gradients may be needed, in training, and outside of `Packs.at_work`,
    where copies of the weights cannot be trusted (`jumok.kernels.packed`).
    """
    packs = AT_WORK.get()
    if packs is None or torch.is_grad_enabled() or layer.training:
        return None
    copy = packs.copy_of(layer, _Packed.made_of)
    # A weight that is computed at every call (pruning, adapters) has no valid copy.
    weight = layer._parameters.get("weight")
    if copy is None or not copy.stamp.is_true(weight):
        packs.drop(layer)
        return None
    return copy.packed if states.dtype == copy.stamp.tensor.dtype else None


class _Packed:
    """A layer's weight in another layout; one more copy of it in memory."""

    def __init__(self, layer: nn.Module, weight: Tensor) -> None:
        self._layer = layer
        self.stamp = Stamp.of(weight)
        self.packed = torch.ops.mkldnn._reorder_linear_weight(weight.detach(), None)

    @classmethod
    def made_of(cls, layer: nn.Module) -> "_Packed | None":
        weight = layer._parameters.get("weight")
        return None if weight is None or not can_be_packed(weight) else cls(layer, weight)

    def is_true(self, look: Look | None) -> bool:
        """Whether the layer still has this weight, and it was not written to."""
        return self.stamp.is_true(self._layer._parameters.get("weight"), look)


def prepare_for_inference(model: nn.Module, dtype: torch.dtype) -> nn.Module:
    """Puts `model` in evaluation mode and in `dtype`, in place; training it further is possible."""
    return model.eval().to(dtype)
