"""Linear layers: for training as torch has them, for inference with weights laid out anew."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from jumok.shapes import Float, Tensor


class Linear(nn.Linear):
    """y = x W^T + b, with Xavier's uniform initialisation and biases of zero.

    Source: Glorot and Bengio 2010, formula 16.
    """

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
    of the weights when the model is loaded.
    """

    def __init__(self, layer: Linear | Projection) -> None:
        super().__init__()
        bias = layer.bias if isinstance(layer, Linear) else None
        self._weight = torch.ops.mkldnn._reorder_linear_weight(layer.weight.detach(), None)
        self._bias = None if bias is None else bias.detach()

    def forward(self, states: Float[Tensor, "*axes inner"]) -> Float[Tensor, "*axes outer"]:
        """x W^T + b."""
        return torch.ops.mkldnn._linear_pointwise(states, self._weight, self._bias, "none", [], "")


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
    return model
