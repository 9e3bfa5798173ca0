"""A feed-forward layer whose inner activations are gated: with silu SwiGLU, with gelu GeGLU.

Source: Shazeer 2020, "GLU Variants Improve Transformer", formula 6 (without biases there).
"""

from torch import nn

from jumok.kernels.activation import silu_gate
from jumok.kernels.linear import Linear, linears
from jumok.kernels.plain import is_unpatched
from jumok.layers.dropout import Dropout
from jumok.layers.feedforward import ACTIVATIONS, silu_dropout
from jumok.shapes import States


class GatedFeedForward(nn.Module):
    """W_2 (activation(W_g x + b_g) * (W_1 x + b_1)) + b_2.

    With three matrices instead of two, a hidden width of two thirds has as many weights as that of
    a plain feed-forward layer.

    Args:
        activation: of the gate, one of `ACTIVATIONS` in `layers/feedforward.py`.
        dropout: of the gated activations.
        bias: whether there are b_g, b_1 and b_2.
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
        """The states, each transformed on its own."""
        gate, inner = linears(states, (self.gate, self.inner))
        if self.activation is silu_dropout and is_unpatched(self.dropout, Dropout):
            return self.outer(silu_gate(gate, inner, self.dropout.draw()))
        return self.outer(self.dropout(self.activation(gate, None) * inner))
