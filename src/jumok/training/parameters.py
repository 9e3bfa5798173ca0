"""All weights of a model in one tensor, which one call updates, casts, averages or saves."""

import torch
from torch import nn

from jumok.shapes import Float, Tensor

_ALIGN = 32  # elements: every parameter starts on a cache line, in bfloat16 too


class FlatParameters:
    """Lays the parameters of `model` out in a row, matrices first.

    Weight decay holds for matrices only (the first `decayed` elements): norms and biases have
    no reason to be small.
    """

    def __init__(self, model: nn.Module) -> None:
        named = sorted(model.named_parameters(), key=lambda pair: pair[1].ndim < 2)
        self._places: list[tuple[str, int, torch.Size]] = []
        self.size = self.decayed = 0
        for name, parameter in named:
            self._places.append((name, self.size, parameter.shape))
            self.size += -(-parameter.numel() // _ALIGN) * _ALIGN
            if parameter.ndim >= 2:
                self.decayed = self.size

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
            for name, start, shape in self._places
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
