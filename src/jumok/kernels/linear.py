"""Linear layers: for training, with few shapes; for inference, with weights laid out anew."""

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from jumok.kernels import native
from jumok.shapes import Float, Tensor

ROWS = 32
"""Products of bfloat16 matrices on a CPU get a multiple of this many rows.

oneDNN makes code for every new shape, which takes 1.5 ms and a megabyte, and it forgets: with as
many shapes as batches have lengths, that was a tenth of a training step and a gigabyte. A copy
of the rows is cheaper.
"""


def linear(
    states: Float[Tensor, "*axes inner"],
    weight: Float[Tensor, "outer inner"],
    bias: Float[Tensor, " outer"],
) -> Float[Tensor, "*axes outer"]:
    """x W^T + b, and its gradients."""
    if states.dtype == torch.bfloat16 and torch.is_grad_enabled() and native.serves(states, weight):
        return _Linear.apply(states, weight, bias)
    return F.linear(states, weight, bias)


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
    def forward(ctx: Any, states: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        padded = whole_rows(states.flatten(0, -2))
        ctx.save_for_backward(padded, weight)
        rows = states.shape[:-1]
        return F.linear(padded, weight, bias)[: rows.numel()].view(*rows, -1)

    @staticmethod
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        padded, weight = ctx.saved_tensors
        rows = slope.shape[:-1]
        slope = whole_rows(slope.flatten(0, -2))
        d_states = (slope @ weight)[: rows.numel()].view(*rows, -1)
        return d_states, slope.t() @ padded, _sum_rows(slope)


def _sum_rows(states: Float[Tensor, "rows dim"]) -> Float[Tensor, " dim"]:
    if states.shape[1] % native.LANES:
        return states.sum(dim=0)
    sums = states.new_empty(states.shape[1])
    native.call("sum_rows", states.dtype, states, sums, *states.shape)
    return sums


class Linear(nn.Linear):
    """y = x W^T + b, with Xavier's uniform initialisation and biases of zero.

    Attributes:
        stacked: how many matrices of equal height W is made of, one above the other.

    Source: Glorot and Bengio 2010, formula 16.
    """

    stacked: int = 1

    def forward(self, states: Float[Tensor, "*axes inner"]) -> Float[Tensor, "*axes outer"]:
        """x W^T + b."""
        return linear(states, self.weight, self.bias)

    def reset_parameters(self) -> None:
        """Draws the weights anew."""
        bound = math.sqrt(6.0 / (self.in_features + self.out_features))
        with torch.no_grad():
            self.weight.uniform_(-bound, bound)
            self.bias.zero_()


class Projection(nn.Module):
    """States to logits, by a table that an embedding may share; no bias."""

    def __init__(self, table: nn.Parameter) -> None:
        super().__init__()
        self.weight = table

    def forward(self, states: Float[Tensor, "*axes dim"]) -> Float[Tensor, "*axes vocabulary"]:
        """The dot product of each state with each row of the table."""
        return F.linear(states, self.weight)


class PackedLinear(nn.Module):
    """A linear layer for inference, its weights laid out as oneDNN reads them fastest.

    The gain over `Linear` at 32 rows is 1.2 to 2 in float32 and more in bfloat16, for one copy
    of the weights when the model is loaded. It learns nothing; where its input is differentiated,
    it passes slopes on.
    """

    def __init__(self, layer: Linear | Projection) -> None:
        super().__init__()
        bias = layer.bias if isinstance(layer, Linear) else None
        self._weight = torch.ops.mkldnn._reorder_linear_weight(layer.weight.detach(), None)
        self.bias = None if bias is None else bias.detach()

    def forward(self, states: Float[Tensor, "*axes inner"]) -> Float[Tensor, "*axes outer"]:
        """x W^T + b."""
        if states.requires_grad:
            passed_on: Tensor = _Packed.apply(states, self._weight, self.bias)
            return passed_on
        return packed_linear(states, self._weight, self.bias)

    @property
    def weight(self) -> Float[Tensor, "outer inner"]:
        """The weights as they were: a copy."""
        return self._weight.to_dense()


def packed_linear(
    states: Float[Tensor, "*axes inner"], weight: Tensor, bias: Float[Tensor, " outer"] | None
) -> Float[Tensor, "*axes outer"]:
    """x W^T + b, for a weight that oneDNN has laid out."""
    return torch.ops.mkldnn._linear_pointwise(states, weight, bias, "none", [], "")


class _Packed(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, states: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.weight = weight
        return packed_linear(states, weight, bias)

    @staticmethod
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor, None, None]:
        return slope @ ctx.weight.to_dense().to(slope), None, None


class LaidOut(nn.Module):
    """A module that prepares itself when its model is made ready for inference."""

    def lay_out(self) -> None:
        """Called once the layers inside are packed."""


def prepare_for_inference(model: nn.Module, dtype: torch.dtype) -> nn.Module:
    """Puts `model` in evaluation mode and in `dtype`, and packs its linear layers on a CPU.

    The model is changed in place, and can be trained no more.
    """
    model.eval().requires_grad_(False).to(dtype)
    on_cpu = all(parameter.device.type == "cpu" for parameter in model.parameters())
    if on_cpu and torch.backends.mkldnn.is_available():
        for parent in list(model.modules()):
            for name, layer in parent.named_children():
                if isinstance(layer, Linear | Projection):
                    setattr(parent, name, PackedLinear(layer))
        for module in model.modules():
            if isinstance(module, LaidOut):
                module.lay_out()
    return model
