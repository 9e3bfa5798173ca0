"""Dropout whose masks come from `Noise`, so that a run can be resumed bit for bit."""

from torch import nn

from jumok.kernels.activation import dropout
from jumok.kernels.noise import DropoutMask, Noise
from jumok.shapes import Float, Tensor


class Dropout(nn.Module):
    """Zeroes a share `p` of the elements while training and scales the rest by 1 / (1 - p).

    Source: Srivastava et al. 2014.
    """

    def __init__(self, p: float, noise: Noise) -> None:
        super().__init__()
        self.p = p
        self.noise = noise

    def forward(self, states: Float[Tensor, "*axes"]) -> Float[Tensor, "*axes"]:
        """The states with some elements dropped; unchanged in evaluation."""
        return dropout(states, self.draw())

    def draw(self) -> DropoutMask | None:
        """The next mask, for a kernel that applies it itself; None where nothing is dropped."""
        return self.noise.mask(self.p) if self.training and self.p else None
