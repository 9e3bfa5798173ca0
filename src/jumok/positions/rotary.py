"""Rotary positions: the score of a query and a key depends only on their distance.

Pair (2i, 2i+1) of a head at position t is rotated by the angle t / base^(2i/dim), so that
(R_m q) . (R_n k) = q . R_(n-m) k.

Source: Su et al. 2021 (RoFormer), section 3.2.2.
"""

import torch
from torch import nn

from jumok.config.stack import RotaryScaling
from jumok.kernels import heads
from jumok.positions.constant import Constant
from jumok.positions.interfaces import PositionSizes
from jumok.positions.tables import rotations
from jumok.shapes import Float, Tensor


class RotaryPositions(nn.Module):
    """Rotates the first `dim` elements of queries and keys; values are unchanged.

    Args:
        base: of the wavelengths, 2 pi base^(2i/dim) positions; a larger one distinguishes
            positions that are further apart.
    """

    enters = "heads"

    def __init__(self, dim: int, base: float = 1e4, scaling: RotaryScaling | None = None) -> None:
        super().__init__()
        self.dim = dim
        frequency, self._size = rotations(dim, base, scaling)
        self._frequency = Constant(torch.from_numpy(frequency))

    @classmethod
    def of(cls, sizes: PositionSizes) -> "RotaryPositions":
        return cls(sizes.head_dim, sizes.base, sizes.scaling)

    def forward(
        self, states: Float[Tensor, "batch heads length dim"], position: int
    ) -> Float[Tensor, "batch heads length dim"]:
        """Rotates each state by its position; the first one is at `position`."""
        if states.shape[-1] > self.dim:
            turned = self(states[..., : self.dim], position)
            return torch.cat((turned, states[..., self.dim :]), dim=-1)
        end = position + states.shape[2]
        # angles in float32: a bfloat16 position would be off by whole turns
        place = torch.arange(position, end, device=states.device, dtype=torch.float32)
        angle = place[:, None] * self._frequency.on(states.device)
        sine, cosine = angle.sin() * self._size, angle.cos() * self._size
        if heads.serves(states):
            return heads.turn(states, cosine, sine)
        return turn_plainly(states, cosine.to(states.dtype), sine.to(states.dtype))


def turn_plainly(
    states: Float[Tensor, "batch heads length dim"],
    cosine: Float[Tensor, "length dim//2"],
    sine: Float[Tensor, "length dim//2"],
) -> Float[Tensor, "batch heads length dim"]:
    """The readable twin of `jumok.kernels.heads.turn`."""
    even, odd = states[..., 0::2], states[..., 1::2]
    turned = torch.stack((even * cosine - odd * sine, even * sine + odd * cosine), dim=-1)
    return turned.flatten(-2)
