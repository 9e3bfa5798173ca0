"""Value residuals: every layer mixes the values of the first layer into its own.

    v_l' = a_l v_1 + b_l v_l,  a_l and b_l learned

What a word was before any layer stays readable in all of them, so the layers' own values need not
carry it.

Source: Zhou et al. 2024, "Value residual learning", section 3.2 (learnable: both start at 1/2).
"""

from dataclasses import dataclass

import torch
from torch import nn

from jumok.shapes import Float, Tensor

HeadValues = Float[Tensor, "batch kv_heads length value_dim"]


@dataclass
class FirstValues:
    """The values of a stack's first layer, for the later layers of the same pass.

    Attributes:
        value: those of the positions of this pass; None: the first layer has not run yet.
    """

    value: Tensor | None = None


class ValueResidual(nn.Module):
    """The mix of one layer.

    Args:
        layer: from 0; the first one has nothing to mix and only keeps its values for the others.
    """

    def __init__(self, layer: int) -> None:
        super().__init__()
        self.mix = nn.Parameter(torch.full((2,), 0.5)) if layer else None

    def forward(self, value: HeadValues, first: FirstValues) -> HeadValues:
        if self.mix is None:
            first.value = value
            return value
        assert first.value is not None, "the first layer runs first"
        return self.mix[0] * first.value + self.mix[1] * value
