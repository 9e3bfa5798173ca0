"""How the flat row of weights is divided among the processes, and who exchanges with whom.

The boundaries at which it may be cut follow from the model alone, so the bits do not depend on the
number of processes. Processes exchange in pairs, first the neighbours, and each step halves the
range of slices: most of the traffic stays inside of a machine.

Source: Rabenseifner 2004 (recursive halving and doubling); Rajbhandari et al. 2020 (ZeRO).
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

ALIGN = 32
"""Elements: every parameter starts on a cache line, in bfloat16 too."""

MOST_BLOCKS = 1 << 13
"""The most blocks of a segment without matrices. Each block has a norm of its own."""

WINDOW, EXCHANGED = 1 << 18, 1 << 22
"""Elements of a slice that are exchanged at once, and of all slices: they bound the memory that
gradients need on their way. Those of all shares of a window fit in a core's cache."""

Range = tuple[int, int]
"""The first element, and the one after the last."""


@dataclass(frozen=True)
class RowSegment:
    """A part of the row, which may be cut at `boundaries`, ascending, its ends included."""

    boundaries: Sequence[int]

    def cut(self, number: int, count: int) -> int:
        """Where slice `number` of `count` begins: the boundary nearest to equal slices."""
        first, end = self.boundaries[0], self.boundaries[-1]
        equal = first + (end - first) * number // count
        after = bisect_left(self.boundaries, equal)
        nearest = self.boundaries[max(after - 1, 0) : after + 1]
        return min(nearest, key=lambda place: abs(place - equal))

    def blocks(self, within: Range) -> list[int]:
        """The elements between the boundaries in a range that begins and ends at one."""
        first, last = (bisect_left(self.boundaries, place) for place in within)
        some = self.boundaries[first : last + 1]
        return [end - start for start, end in pairwise(some)]


def in_blocks(first: int, end: int) -> RowSegment:
    """A segment whose elements do not depend on each other, cut into blocks of one size."""
    size = max(ALIGN, 1 << max(0, (end - first - 1) // MOST_BLOCKS).bit_length())
    return RowSegment([*range(first, end, size), end])


@dataclass(frozen=True)
class ExchangeStep:
    """Two processes exchange what they have of each other's slices.

    Attributes:
        kept, given: the slices, by number, that belong to this side and to the other one.
    """

    other: int
    kept: Range
    given: Range


def exchange_steps(index: int, count: int) -> list[ExchangeStep]:
    """The exchanges of process `index` of `count`, a power of two, until one slice is left."""
    steps = []
    first, end = 0, count
    for bit in range(count.bit_length() - 1):
        middle = (first + end) // 2
        low, high = (first, middle), (middle, end)
        kept, given = (high, low) if index >> bit & 1 else (low, high)
        steps.append(ExchangeStep(index ^ (1 << bit), kept, given))
        first, end = kept
    return steps


def slice_number(index: int, count: int) -> int:
    """The number of the slice that process `index` owns: its bits in reverse."""
    return exchange_steps(index, count)[-1].kept[0] if count > 1 else 0


class Slices:
    """The slices of a row; `count` is a power of two.

    Attributes:
        most_blocks: of a slice.
    """

    def __init__(self, segments: Sequence[RowSegment], count: int) -> None:
        self.segments, self.count = segments, count
        self._cuts = [[segment.cut(n, count) for n in range(count + 1)] for segment in segments]
        self.most_blocks = max(self._blocks(number) for number in range(count))

    def ranges(self, first: int, end: int) -> list[Range]:
        """What the slices from number `first` to `end` have of each segment."""
        return [(cuts[first], cuts[end]) for cuts in self._cuts]

    def _blocks(self, number: int) -> int:
        ranges = self.ranges(number, number + 1)
        return sum(
            len(segment.blocks(within))
            for segment, within in zip(self.segments, ranges, strict=True)
        )

    def windows(self, at_once: int = WINDOW) -> Iterator[list[Range]]:
        """Parts of the row one after another, each as the ranges that the slices have of it.

        Args:
            at_once: the most elements of a slice in a part.
        """
        most = at_once if self.count == 1 else min(at_once, EXCHANGED // self.count)
        size = max(ALIGN, most)
        for cuts in self._cuts:
            longest = max(end - start for start, end in pairwise(cuts))
            for at in range(0, longest, size):
                yield [
                    (min(start + at, end), min(start + at + size, end))
                    for start, end in pairwise(cuts)
                ]
