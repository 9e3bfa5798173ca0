"""Feed-forward layers, applied to every position: plain, and with gated inner activations.

Source: Vaswani et al. 2017, section 3.3; gated: Shazeer 2020, "GLU Variants Improve Transformer",
formula 6 (without biases there), with silu SwiGLU, with gelu GeGLU.
"""

from torch import nn
from torch.nn import functional as F

from jumok.kernels.activation import dropout, relu_dropout, silu_gate
from jumok.kernels.linear import Linear, linear_relu, linears
from jumok.kernels.noise import DropoutMask
from jumok.kernels.plain import is_unpatched
from jumok.layers.dropout import Dropout
from jumok.shapes import States


def gelu_dropout(states: States, drop: DropoutMask | None) -> States:
    """dropout(gelu(states))."""
    return dropout(F.gelu(states), drop)


def gelu_tanh_dropout(states: States, drop: DropoutMask | None) -> States:
    """As `gelu_dropout`, with tanh in the place of erf; Hendrycks and Gimpel 2016, section 2."""
    return dropout(F.gelu(states, approximate="tanh"), drop)


def silu_dropout(states: States, drop: DropoutMask | None) -> States:
    """dropout(states * sigmoid(states)), which is also named swish."""
    return dropout(F.silu(states), drop)


def squared_relu_dropout(states: States, drop: DropoutMask | None) -> States:
    """dropout(max(states, 0)^2); So et al. 2021 (Primer), section 4.1."""
    bent = relu_dropout(states, None)
    return dropout(bent * bent, drop)


ACTIVATIONS = {
    "relu": relu_dropout,
    "relu2": squared_relu_dropout,
    "gelu": gelu_dropout,
    "gelu_tanh": gelu_tanh_dropout,
    "silu": silu_dropout,
}


class PlainFeedForward(nn.Module):
    """W_2 activation(W_1 x + b_1) + b_2.

    Args:
        activation: one of ACTIVATIONS.
    """

    def __init__(
        self, dim: int, hidden: int, activation: str, dropout: Dropout, bias: bool = True
    ) -> None:
        super().__init__()
        self.inner = Linear(dim, hidden, bias)
        self.outer = Linear(hidden, dim, bias)
        self.activation = ACTIVATIONS[activation]
        self.dropout = dropout

    def forward(self, states: States) -> States:
        if not is_unpatched(self.dropout, Dropout):
            return self.outer(self.dropout(self.activation(self.inner(states), None)))
        drop = self.dropout.draw()
        if self.activation is relu_dropout:
            bent = linear_relu(states, self.inner)
            if bent is not None:
                return self.outer(dropout(bent, drop))
        return self.outer(self.activation(self.inner(states), drop))


class GatedFeedForward(nn.Module):
    """W_2 (activation(W_g x + b_g) * (W_1 x + b_1)) + b_2.

    With three matrices instead of two, a hidden width of two thirds has as many weights as that of
    a plain feed-forward layer.

    Args:
        activation: of the gate, one of ACTIVATIONS.
    """

    def __init__(
        self, dim: int, hidden: int, activation: str, dropout: Dropout, bias: bool = True
    ) -> None:
        super().__init__()
        self.gate = Linear(dim, hidden, bias)
        self.inner = Linear(dim, hidden, bias)
        self.outer = Linear(hidden, dim, bias)
        self.activation = ACTIVATIONS[activation]
        self.dropout = dropout

    def forward(self, states: States) -> States:
        gate, inner = linears(states, (self.gate, self.inner))
        if self.activation is silu_dropout and is_unpatched(self.dropout, Dropout):
            return self.outer(silu_gate(gate, inner, self.dropout.draw()))
        return self.outer(self.dropout(self.activation(gate, None) * inner))
