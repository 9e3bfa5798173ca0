"""Frozen rows of embedding tables, which training leaves bit-identical.

Even with a gradient of zero, weight decay and averaging would change them. So they are written back
after every step.
"""

import torch
from torch import nn

from jumok.layers.embedding import Embedding
from jumok.shapes import Bool, Float, Tensor
from jumok.training.optimization.parameters import FlatParameters


def frozen_elements(model: nn.Module, layout: FlatParameters) -> Bool[Tensor, " size"] | None:
    """Which elements of the row of weights are frozen; None: none is."""
    tables = {
        id(module.table): module.frozen
        for module in model.modules()
        if isinstance(module, Embedding) and module.frozen is not None
    }
    if not tables:
        return None
    device = next(model.parameters()).device
    marked = torch.zeros(layout.size, device=device)
    views = layout.views(marked)
    for name, parameter in model.named_parameters():
        if id(parameter) in tables:
            views[name][tables[id(parameter)].to(device)] = 1
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
