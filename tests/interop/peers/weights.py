"""Weights that depend on the names and shapes of tensors alone, so that no file has them."""

import math
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

PAGES = Path(__file__).parent


def numbers(name: str, shape: list[int]) -> Tensor:
    """Of a norm's weight around 1, and of the others as large as the numbers of a trained one."""
    generator = torch.Generator().manual_seed(zlib.crc32(name.encode()))
    tensor = torch.randn(math.prod(shape), generator=generator).reshape(shape)
    if len(shape) == 2:
        return tensor * shape[1] ** -0.5
    return tensor * 0.3 + float("norm" in name and name.endswith("weight"))


def is_constant(name: str, shape: list[int]) -> bool:
    """Of tables of positions, and of scalars that no training changes."""
    return len(shape) > 2 or name.endswith("layer_scalar")


def constant(name: str, shape: list[int]) -> Tensor:
    """Positions are not those that a peer computes: they are not read."""
    return torch.zeros(shape) if len(shape) > 2 else torch.ones(shape)


def fill(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Overwrites the matrices and vectors of a model; of tied ones the last name counts."""
    for name, tensor in state.items():
        if not is_constant(name, list(tensor.shape)):
            tensor.copy_(numbers(name, list(tensor.shape)))
    return dict(state)


def sentences(rows: int, seed: int) -> Tensor:
    """A hundred random sources of 1 to 11 ids, the last one END = 3, then PAD = 1."""
    lengths = torch.arange(100)[:, None] % 11 + 1
    generator = torch.Generator().manual_seed(seed)
    ids = torch.randint(4, rows, (100, 11), generator=generator).scatter(1, lengths - 1, 3)
    return ids.masked_fill(torch.arange(11) >= lengths, 1)


def speak(tensors: Mapping[str, Tensor], words: int) -> None:
    """Overwrites the tables of tokens, so that a random model writes sentences that differ and end.

    Args:
        words: which random numbers; some models never end.
    """
    tables = {
        table.data_ptr(): table
        for name, table in tensors.items()
        if name.endswith(("lut.weight", "decoder.output_layer.weight"))
    }
    for table in tables.values():
        table.copy_(3.0 * numbers(f"loud {words}", list(table.shape)))
        table[3] *= 2.0  # END
        table[1] = 0.0  # PAD


def weighed(name: str, gradient: Tensor) -> list[float]:
    """Three sums of all numbers of a gradient, each with random weights of their own."""
    ways = [numbers(f"{name} {way}", [1, gradient.numel()]) for way in range(3)]
    return [float((gradient.flatten() * way).sum() * gradient.numel() ** 0.5) for way in ways]


def described(tensors: Mapping[str, Tensor], read: Tensor, written: Tensor, logits: Tensor) -> Any:
    """What a test needs to make the same model, and to compare it."""
    first: dict[int, str] = {}
    same = {}
    for name, tensor in reversed(tensors.items()):
        owner = first.setdefault(tensor.data_ptr(), name)
        if owner != name:
            same[name] = owner
    return {
        "tensors": {name: list(tensor.shape) for name, tensor in tensors.items()},
        "same": same,
        "read": read.tolist(),
        "written": written.tolist(),
        "logits": [[[round(x, 6) for x in row] for row in rows] for rows in logits.tolist()],
    }
