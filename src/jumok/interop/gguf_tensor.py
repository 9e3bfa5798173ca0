"""A tensor in a GGUF file, not read yet. Imports no torch."""

from dataclasses import dataclass
from math import prod


@dataclass(frozen=True)
class GgufTensor:
    """A tensor: its shape, the number of its type, and where it begins in the file."""

    shape: tuple[int, ...]
    kind: int
    begin: int

    @property
    def elements(self) -> int:
        """How many numbers it has."""
        return prod(self.shape)
