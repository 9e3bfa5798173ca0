"""The rows of each parameter that a process has, and their ranges in the row of a checkpoint.

FSDP2 cuts parameters as `torch.chunk` does. A chunk is a range of the row of `FlatParameters`, so
checkpoints of chunks and of slices are alike, for any number of processes.
"""

import math
from collections.abc import Sequence

import torch

from jumok.shapes import Float, Tensor
from jumok.training.optimization.parameters import FlatParameters
from jumok.training.optimization.slices import Range


class Shards:
    """The chunks of all parameters, in the order of the row, for `count` processes."""

    def __init__(self, layout: FlatParameters, count: int) -> None:
        self._layout, self._count = layout, count
        self.names = [name for name, _, _ in layout.entries]
        self.size = layout.size

    def shapes(self, index: int) -> list[torch.Size]:
        return [
            torch.Size([end - first, *shape[1:]])
            for (_, _, shape), (first, end) in zip(
                self._layout.entries, self._rows(index), strict=True
            )
        ]

    def ranges(self, index: int) -> list[Range]:
        """The ranges of process `index`: with a parameter's last row also the zeros after it."""
        ranges = []
        for (_, (start, end), shape), (first, last) in zip(
            self._layout.entries, self._rows(index), strict=True
        ):
            width = math.prod(shape[1:])
            ends = last == shape[0] and first < last
            ranges.append((start + first * width, end if ends else start + last * width))
        return ranges

    def joined(self, parts: Sequence[Tensor], index: int) -> Float[Tensor, " own"]:
        """The parts that process `index` has, one after another, as its ranges say."""
        ranges = self.ranges(index)
        row = parts[0].new_zeros(sum(end - start for start, end in ranges))
        for window, part in zip(self.split(row, index), parts, strict=True):
            window.copy_(part)
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
        rows = []
        for _, _, shape in self._layout.entries:
            most = -(-shape[0] // self._count)
            rows.append((min(index * most, shape[0]), min((index + 1) * most, shape[0])))
        return rows
