"""All weights of a model in one tensor, which one call updates, casts, averages or saves."""

import math

import torch
from torch import nn

from jumok.kernels.linear import Linear
from jumok.shapes import Float, Tensor
from jumok.training.optimization.slices import ALIGN, Range, RowSegment, in_blocks

UNIT_ELEMENTS = 1 << 20
"""Elements of matrices of one shape that Muon steps together, and one process owns."""


class FlatParameters:
    """The order of a model's parameters in one row: inner matrices first, then tables, norms.

    Parameters that do not learn are in none.

    Attributes:
        hidden: where the matrices of linear layers and convolutions end.
        matrices: where each stack of equal shapes starts, and its shape (count rows columns).
        decayed: where all matrices end. Weight decay applies to them only, not to norms and biases.
        size: elements of the whole row.
    """

    def __init__(self, model: nn.Module) -> None:
        inner = {
            id(module.weight): as_matrices(module)
            for module in model.modules()
            if isinstance(module, nn.Linear | nn.Conv2d)
        }

        def order(pair: tuple[str, nn.Parameter]) -> tuple[bool, bool, tuple[int, ...]]:
            parameter = pair[1]
            return id(parameter) not in inner, parameter.ndim < 2, inner.get(id(parameter), ())[1:]

        self._starts: list[tuple[str, int, torch.Size]] = []
        self.matrices: list[tuple[int, tuple[int, int, int]]] = []
        self.size = self.decayed = self.hidden = 0
        learning = [pair for pair in model.named_parameters() if pair[1].requires_grad]
        for name, parameter in sorted(learning, key=order):
            self._starts.append((name, self.size, parameter.shape))
            if id(parameter) in inner:
                self._stack(*inner[id(parameter)])
            self.size += -(-parameter.numel() // ALIGN) * ALIGN
            if parameter.ndim >= 2:
                self.decayed = self.size
            if id(parameter) in inner:
                self.hidden = self.size

    @property
    def entries(self) -> list[tuple[str, Range, torch.Size]]:
        """Each parameter's name, range (up to the next cache line, filled with zeros) and shape."""
        ends = [start for _, start, _ in self._starts[1:]] + [self.size]
        return [
            (name, (start, end), shape)
            for (name, start, shape), end in zip(self._starts, ends, strict=True)
        ]

    @property
    def units(self) -> list[tuple[int, tuple[int, int, int]]]:
        """Parts of the stacks of about UNIT_ELEMENTS elements: their starts and shapes."""
        units = []
        for start, (count, rows, columns) in self.matrices:
            # A part starts on a cache line.
            fewest = ALIGN // math.gcd(ALIGN, rows * columns)
            most = max(1, UNIT_ELEMENTS // (fewest * rows * columns)) * fewest
            for first in range(0, count, most):
                some = min(most, count - first), rows, columns
                units.append((start + first * rows * columns, some))
        return units

    def segments(self, hidden: int) -> list[RowSegment]:
        """Cuttable at units of matrices up to `hidden`, and at blocks after them."""
        units = [start for start, _ in self.units if start < hidden]
        return [RowSegment([*units, hidden]), in_blocks(hidden, self.size)]

    def _stack(self, count: int, rows: int, columns: int) -> None:
        if self.matrices:
            start, (before, *last) = self.matrices[-1]
            if last == [rows, columns] and start + before * rows * columns == self.size:
                self.matrices[-1] = start, (before + count, rows, columns)
                return
        self.matrices.append((self.size, (count, rows, columns)))

    def flatten(self, model: nn.Module) -> Float[Tensor, " size"]:
        """A float32 copy of the weights of `model`."""
        flat = torch.zeros(self.size, device=next(model.parameters()).device)
        for name, view in self.views(flat).items():
            view.copy_(model.get_parameter(name).detach())
        return flat

    def views(self, flat: Float[Tensor, " size"]) -> dict[str, Tensor]:
        """Each parameter as a window into `flat`."""
        return {
            name: flat[start : start + shape.numel()].view(shape)
            for name, start, shape in self._starts
        }

    def attach(
        self,
        model: nn.Module,
        weights: Float[Tensor, " size"],
        gradients: Float[Tensor, " size"] | None,
    ) -> None:
        """Makes the parameters of `model`, and their gradients, windows into these tensors."""
        for name, view in self.views(weights).items():
            model.get_parameter(name).data = view
        if gradients is not None:
            for name, view in self.views(gradients).items():
                model.get_parameter(name).grad = view


def as_matrices(layer: nn.Linear | nn.Conv2d) -> tuple[int, int, int]:
    """The number, rows and columns of a layer's matrices.

    A convolution's filter is a row. The gates of a recurrent cell are a matrix each.
    """
    count = layer.stacked if isinstance(layer, Linear) else 1
    rows, *columns = layer.weight.shape
    return count, rows // count, math.prod(columns)
