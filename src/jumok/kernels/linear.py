"""Linear layers, and their kernels for training."""

import math
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import nn

from jumok.kernels import native
from jumok.kernels.activation import soft_cap
from jumok.kernels.card import serving
from jumok.kernels.plain import is_unpatched
from jumok.kernels.training import linear as training_linear
from jumok.shapes import Float, Tensor


def linear(
    states: Float[Tensor, "*axes inner"],
    weight: Float[Tensor, "outer inner"],
    bias: Float[Tensor, " outer"] | None,
) -> Float[Tensor, "*axes outer"]:
    """x W^T + b, and its gradients; without b if `bias` is None."""
    if _trained(states, weight):
        return training_linear.trained_linear(states, weight, bias)
    return F.linear(states, weight, bias)


def linear_relu(
    states: Float[Tensor, "*axes inner"], layer: "Linear"
) -> Float[Tensor, "*axes outer"] | None:
    """max(x W^T + b, 0) in one pass; None: there is no kernel."""
    on_card = serving.serves(states) and layer.bias is not None and is_unpatched(layer, Linear)
    if not on_card or not _trained(states, layer.weight):
        return None
    return training_linear.trained_linear(states, layer.weight, layer.bias, bent=True)


def linears(
    states: Float[Tensor, "*axes inner"], layers: Sequence[nn.Module]
) -> list[Float[Tensor, "*axes _"]]:
    """What each of the layers gives for the same states."""
    known = [layer for layer in layers if isinstance(layer, Linear) and is_unpatched(layer, Linear)]
    if len(known) == len(layers) and all(_trained(states, layer.weight) for layer in known):
        pairs = [(layer.weight, layer.bias) for layer in known]
        return list(training_linear.trained_linears(states, pairs))
    return [layer(states) for layer in layers]


def _trained(states: Tensor, weight: Tensor) -> bool:
    """Whether gradients are computed, by the layers for training."""
    if not torch.is_grad_enabled():
        return False
    on_cpu = states.dtype == torch.bfloat16 and native.serves(states, weight)
    return on_cpu or (serving.serves(states) and weight.requires_grad)


class Linear(nn.Linear):
    """y = x W^T + b, with Xavier's uniform initialisation and biases of zero; b may be missing.

    Attributes:
        stacked: the number of matrices of equal height that W consists of, one above the other.

    Source: Glorot and Bengio 2010, formula 16.
    """

    stacked: int = 1

    def forward(self, states: Float[Tensor, "*axes inner"]) -> Float[Tensor, "*axes outer"]:
        return linear(states, self.weight, self.bias)

    def reset_parameters(self) -> None:
        """Initialises the weights again."""
        bound = math.sqrt(6.0 / (self.in_features + self.out_features))
        with torch.no_grad():
            self.weight.uniform_(-bound, bound)
            if self.bias is not None:
                self.bias.zero_()


class Projection(nn.Module):
    """States to logits, by a table that an embedding may share.

    Attributes:
        cap: the soft cap of the logits (`soft_cap`); None: they are not capped.
        frozen: training does not change the bias (`training/optimization/frozen.py`).
    """

    def __init__(
        self, table: nn.Parameter, cap: float | None = None, *, bias: bool = False
    ) -> None:
        super().__init__()
        self.weight = table
        self.bias = nn.Parameter(torch.zeros(len(table))) if bias else None
        self.cap = cap
        self.frozen = False

    def forward(self, states: Float[Tensor, "*axes dim"]) -> Float[Tensor, "*axes vocabulary"]:
        """The dot product of each state with each row of the table, plus the bias, and capped."""
        logits = F.linear(states, self.weight, self.bias)
        return logits if self.cap is None else soft_cap(logits, self.cap)
