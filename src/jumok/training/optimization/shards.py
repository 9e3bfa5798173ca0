"""Which rows of each parameter a process has, and where they are in the row of a checkpoint.

FSDP2 gives each process a chunk of the rows of every parameter, as `torch.chunk` cuts them. A chunk
is a range of the row of `FlatParameters`, so a checkpoint of chunks is cut and put together as one
of slices is, for any number of processes.
"""

import math
from collections.abc import Sequence

import torch

from jumok.shapes import Float, Tensor
from jumok.training.optimization.parameters import FlatParameters
from jumok.training.optimization.slices import Range


class Shards:
    """The chunks of all parameters, in the order of the row.

    Args:
        count: of the processes.
    """

    def __init__(self, layout: FlatParameters, count: int) -> None:
        self._layout, self._count = layout, count
        self.names = [name for name, _, _ in layout.places]
        self.size = layout.size

    def shapes(self, index: int) -> list[torch.Size]:
        """Those of what process `index` has."""
        return [
            torch.Size([end - first, *shape[1:]])
            for (_, _, shape), (first, end) in zip(
                self._layout.places, self._rows(index), strict=True
            )
        ]

    def ranges(self, index: int) -> list[Range]:
        """What process `index` has of the row: with a parameter's last row also the zeros after
        it.
        """
        found = []
        for (_, (start, end), shape), (first, last) in zip(
            self._layout.places, self._rows(index), strict=True
        ):
            width = math.prod(shape[1:])
            ends = last == shape[0] and first < last
            found.append((start + first * width, end if ends else start + last * width))
        return found

    def joined(self, parts: Sequence[Tensor], index: int) -> Float[Tensor, " own"]:
        """The parts that process `index` has, one after another, as its ranges say."""
        ranges = self.ranges(index)
        row = parts[0].new_zeros(sum(end - start for start, end in ranges))
        for held, part in zip(self.split(row, index), parts, strict=True):
            held.copy_(part)
        return row

    def split(self, row: Float[Tensor, " own"], index: int) -> list[Tensor]:
        """The result of `joined` taken apart, as windows into it."""
        lengths = [end - start for start, end in self.ranges(index)]
        return [
            part[: shape.numel()].view(shape)
            for part, shape in zip(row.split(lengths), self.shapes(index), strict=True)
        ]

    def cut(self, row: Float[Tensor, " size"], index: int) -> list[Tensor]:
        """What process `index` has of a whole row, as windows into it."""
        return [
            row[start : start + shape.numel()].view(shape)
            for (start, _), shape in zip(self.ranges(index), self.shapes(index), strict=True)
        ]

    def _rows(self, index: int) -> list[Range]:
        """The first row of each parameter that process `index` has, and the one after its last."""
        found = []
        for _, _, shape in self._layout.places:
            most = -(-shape[0] // self._count)
            found.append((min(index * most, shape[0]), min((index + 1) * most, shape[0])))
        return found
