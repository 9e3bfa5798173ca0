"""What the heads' outputs are multiplied by before they are mixed: learned factors, or gates.

Gates are computed from what the query was computed from:

    output_h' = sigmoid(W_h x) * output_h

A head can so be closed for one position, whatever it attends to there: softmax itself cannot give
nothing. "head-gate" has one number for each head, "element-gate" one for each element.

Source: factors: Shleifer et al. 2021 (NormFormer), section 2.2 (HeadScale); gates: Qiu et al.
2025, "Gated attention for large language models", section 2 (position G1); Qwen3-Next has the
second form.
"""

import torch
from torch import nn

from jumok.kernels.linear import Linear
from jumok.shapes import Float, States, Tensor


class HeadScale(nn.Module):
    """gain_h x; the gains start at 1."""

    def __init__(self, heads: int, *_sizes: int) -> None:
        super().__init__()
        self.gain = nn.Parameter(torch.ones(heads))

    def forward(
        self,
        outputs: Float[Tensor, "batch heads query value_dim"],
        queries: States,  # noqa: ARG002 - gates need it
    ) -> Float[Tensor, "batch heads query value_dim"]:
        return outputs * self.gain[:, None, None]


class HeadGate(Linear):
    """One gate for each head and query.

    Args:
        heads, value_dim: of the outputs.
        dim: width of the states that queries are computed from.
    """

    def __init__(self, heads: int, value_dim: int, dim: int) -> None:  # noqa: ARG002 - of the role
        super().__init__(dim, heads, bias=False)

    def forward(  # type: ignore[override]  # a process, and no layer of its own
        self, outputs: Float[Tensor, "batch heads query value_dim"], queries: States
    ) -> Float[Tensor, "batch heads query value_dim"]:
        """The outputs, each times its gate, which is between 0 and 1."""
        gates = torch.sigmoid(super().forward(queries))
        return outputs * gates.unflatten(-1, (outputs.shape[1], -1)).transpose(1, 2)


class ElementGate(HeadGate):
    """One gate for each element of each head's output."""

    def __init__(self, heads: int, value_dim: int, dim: int) -> None:
        Linear.__init__(self, dim, heads * value_dim, bias=False)
