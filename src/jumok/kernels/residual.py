"""Residual connection, dropout and layer norm in one pass."""

from torch import nn

from jumok.kernels.noise import Mask
from jumok.shapes import States


def add_norm(
    stream: States, update: States, norm: nn.LayerNorm, drop: Mask | None
) -> tuple[States, States]:
    """(s, norm(s)) with s = stream + dropout(update)."""
    return add_norm_plainly(stream, update, norm, drop)


def add_norm_plainly(
    stream: States, update: States, norm: nn.LayerNorm, drop: Mask | None
) -> tuple[States, States]:
    """The readable twin of `add_norm`."""
    total = stream + (update if drop is None else drop.apply(update))
    return total, norm(total)
