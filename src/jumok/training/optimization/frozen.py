"""Frozen rows of embedding tables, which training leaves bit-identical.

A gradient of zero would not be enough: weight decay would still shrink them, and the mean of equal
numbers need not be equal to them. So their gradient is zero, which excludes them from the norm that
is clipped, and they are written back after every step and into every average.
"""

import torch
from torch import nn

from jumok.layers.embedding import Embedding
from jumok.shapes import Float, Tensor
from jumok.training.optimization.exchange import Exchange
from jumok.training.optimization.parameters import FlatParameters


class FrozenRows:
    """The frozen rows of `model`, as far as they are in a slice of its weights.

    Args:
        master: the slice.
    """

    def __init__(
        self,
        model: nn.Module,
        layout: FlatParameters,
        exchange: Exchange,
        master: Float[Tensor, " slice"],
    ) -> None:
        tables = {
            id(module.table): module.frozen
            for module in model.modules()
            if isinstance(module, Embedding) and module.frozen is not None
        }
        self._frozen: Tensor | None = None
        if tables:
            marked = torch.zeros(layout.size, device=master.device)
            views = layout.views(marked)
            for name, parameter in model.named_parameters():
                if id(parameter) in tables:
                    views[name][tables[id(parameter)].to(master.device)] = 1
            self._frozen = exchange.cut(marked) > 0
        self.remember(master)

    def remember(self, weights: Float[Tensor, " slice"]) -> None:
        """Stores the values of the rows in `weights`."""
        self._kept = weights[:0] if self._frozen is None else weights[self._frozen]

    def silence(self, gradient: Float[Tensor, " slice"]) -> None:
        """Sets their gradient to zero."""
        if self._frozen is not None:
            gradient.masked_fill_(self._frozen, 0.0)

    def restore(self, weights: Float[Tensor, " slice"]) -> None:
        """Writes them back."""
        if self._frozen is not None:
            weights.masked_scatter_(self._frozen, self._kept)
