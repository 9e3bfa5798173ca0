"""Frozen rows of embedding tables, and biases, which training leaves bit-identical.

Even with a gradient of zero, weight decay and averaging would change them. So they are written back
after every step.
"""

from collections.abc import Sequence

import torch
from torch import nn

from jumok.kernels.linear import Projection
from jumok.layers.embedding import Embedding
from jumok.shapes import Bool, Float, Int, Tensor
from jumok.training.optimization.parameters import FlatParameters


def freeze(model: nn.Module, rows: Sequence[int], *, bias: bool) -> None:
    """These rows of the embeddings keep their vectors, and the output its bias, if `bias`."""
    for module in model.modules():
        if isinstance(module, Embedding) and rows:
            module.frozen = torch.tensor(rows)
        if isinstance(module, Projection):
            module.frozen = bias


def frozen_elements(model: nn.Module, layout: FlatParameters) -> Bool[Tensor, " size"] | None:
    """Which elements of the row of weights are frozen; None: none is."""
    found: dict[int, Int[Tensor, " rows"] | None] = {}
    for module in model.modules():
        if isinstance(module, Embedding) and module.frozen is not None:
            found[id(module.table)] = module.frozen
        if isinstance(module, Projection) and module.frozen and module.bias is not None:
            found[id(module.bias)] = None
    if not found:
        return None
    device = next(model.parameters()).device
    marked = torch.zeros(layout.size, device=device)
    views = layout.views(marked)
    for name, parameter in model.named_parameters():
        if id(parameter) in found and name in views:
            rows = found[id(parameter)]
            views[name][slice(None) if rows is None else rows.to(device)] = 1
    return marked > 0


class FrozenRows:
    """Frozen elements of some weights; None: none."""

    def __init__(
        self, frozen: Bool[Tensor, "*axes"] | None, weights: Float[Tensor, "*axes"]
    ) -> None:
        self._frozen = frozen
        self.remember(weights)

    def remember(self, weights: Float[Tensor, "*axes"]) -> None:
        self._kept = weights[:0] if self._frozen is None else weights[self._frozen]

    def silence(self, gradient: Float[Tensor, "*axes"]) -> None:
        if self._frozen is not None:
            gradient.masked_fill_(self._frozen, 0.0)

    def restore(self, weights: Float[Tensor, "*axes"]) -> None:
        if self._frozen is not None:
            weights.masked_scatter_(self._frozen, self._kept)
