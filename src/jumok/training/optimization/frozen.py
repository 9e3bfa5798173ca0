"""Frozen rows of embedding tables, which training leaves bit-identical.

A gradient of zero would not be enough: weight decay would still shrink them, and the mean of equal
numbers need not be equal to them. So their gradient is zero, which excludes them from the norm that
is clipped, and they are written back after every step and into every average.
"""

import torch
from torch import nn

from jumok.layers.embedding import Embedding
from jumok.shapes import Float, Tensor
from jumok.training.optimization.parameters import FlatParameters


class FrozenRows:
    """The frozen rows of `model`, whose weights are in `master` according to `layout`."""

    def __init__(
        self, model: nn.Module, layout: FlatParameters, master: Float[Tensor, " size"]
    ) -> None:
        tables = {
            id(module.table): module.frozen
            for module in model.modules()
            if isinstance(module, Embedding) and module.frozen is not None
        }
        self._layout = layout
        self._rows = {
            name: tables[id(parameter)].to(master.device)
            for name, parameter in model.named_parameters()
            if id(parameter) in tables
        }
        self.remember(master)

    def remember(self, weights: Float[Tensor, " size"]) -> None:
        """Stores the values of the rows in `weights`."""
        views = self._layout.views(weights) if self._rows else {}
        self._kept = {name: views[name][rows].clone() for name, rows in self._rows.items()}

    @torch.no_grad()
    def silence(self, gradient: Float[Tensor, " size"]) -> None:
        """Sets their gradient to zero."""
        views = self._layout.views(gradient) if self._rows else {}
        for name, rows in self._rows.items():
            views[name][rows] = 0

    @torch.no_grad()
    def restore(self, weights: Float[Tensor, " size"]) -> None:
        """Writes them back."""
        views = self._layout.views(weights) if self._rows else {}
        for name, rows in self._rows.items():
            views[name][rows] = self._kept[name]
