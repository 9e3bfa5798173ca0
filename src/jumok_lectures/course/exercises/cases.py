"""Inputs that exercises share. Random ones have another prime as the size of every axis."""

import torch
from torch import Tensor


def random(*sizes: int, seed: int = 0) -> Tensor:
    """Standard normal numbers, of double precision."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*sizes, generator=generator, dtype=torch.float64)


def numbers(*rows: object) -> Tensor:
    """A tensor of these, of double precision."""
    return torch.tensor(rows, dtype=torch.float64)
