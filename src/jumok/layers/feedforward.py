"""Two linear layers with a nonlinearity between them, applied to every position.

Source: Vaswani et al. 2017, section 3.3.
"""

import torch.nn.functional as F
from torch import nn

from jumok.kernels.activation import dropout, relu_dropout
from jumok.kernels.linear import Linear
from jumok.kernels.noise import DropoutMask
from jumok.kernels.plain import plain
from jumok.layers.dropout import Dropout
from jumok.shapes import States


def gelu_dropout(states: States, drop: DropoutMask | None) -> States:
    """dropout(gelu(states))."""
    return dropout(F.gelu(states), drop)


ACTIVATIONS = {"relu": relu_dropout, "gelu": gelu_dropout}


class FeedForward(nn.Module):
    """W_2 activation(W_1 x + b_1) + b_2."""

    def __init__(self, dim: int, hidden: int, activation: str, dropout: Dropout) -> None:
        super().__init__()
        self.inner = Linear(dim, hidden)
        self.outer = Linear(hidden, dim)
        self.activation = ACTIVATIONS[activation]
        self.dropout = dropout

    def forward(self, states: States) -> States:
        """The states, each transformed on its own."""
        inner = self.inner(states)
        if plain(self.dropout, Dropout):
            return self.outer(self.activation(inner, self.dropout.draw()))
        return self.outer(self.dropout(self.activation(inner, None)))
