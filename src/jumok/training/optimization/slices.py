"""How the flat row of weights is divided among the processes: who owns what, who meets whom.

The row has stretches, and a stretch has places at which it may be cut. The places follow from the
model alone, so whatever is computed from one place to the next has the same bits in any number of
processes. Every process owns one slice: a range of each stretch.

Processes meet in pairs, first the neighbours. With 8 processes on each of several machines, three
quarters and more of what is exchanged stays inside of a machine: each meeting halves the range of
slices that a process still has to do with.

Source: Rabenseifner 2004 (recursive halving and doubling); Rajbhandari et al. 2020 (ZeRO).
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

ALIGN = 32
"""Elements: every parameter starts on a cache line, in bfloat16 too."""

MOST_BLOCKS = 1 << 13
"""The most blocks of a stretch without matrices. Each block has a norm of its own."""

WINDOW, EXCHANGED = 1 << 18, 1 << 22
"""Elements of a slice that are exchanged at once, and of all slices: they bound the memory that
gradients need on their way. Those of all shares of a window fit in a core's cache."""

Range = tuple[int, int]
"""The first element, and the one after the last."""


@dataclass(frozen=True)
class Stretch:
    """A part of the row.

    Attributes:
        places: where it may be cut, in ascending order: from its first element to its end.
    """

    places: Sequence[int]

    def cut(self, number: int, count: int) -> int:
        """Where slice `number` of `count` begins: the place nearest to equal slices."""
        first, end = self.places[0], self.places[-1]
        equal = first + (end - first) * number // count
        after = bisect_left(self.places, equal)
        nearest = self.places[max(after - 1, 0) : after + 1]
        return min(nearest, key=lambda place: abs(place - equal))

    def blocks(self, within: Range) -> list[int]:
        """The elements from each place to the next one, in a range that begins and ends at one."""
        first, last = (bisect_left(self.places, place) for place in within)
        some = self.places[first : last + 1]
        return [end - start for start, end in pairwise(some)]


def in_blocks(first: int, end: int) -> Stretch:
    """A stretch whose elements do not depend on each other, cut into blocks of one size."""
    size = max(ALIGN, 1 << max(0, (end - first - 1) // MOST_BLOCKS).bit_length())
    return Stretch([*range(first, end, size), end])


@dataclass(frozen=True)
class Meeting:
    """Two processes exchange what they have of each other's slices.

    Attributes:
        other: the index of the other process.
        kept, given: the slices, by number, that belong to this side and to the other one.
    """

    other: int
    kept: Range
    given: Range


def meetings(index: int, count: int) -> list[Meeting]:
    """Whom process `index` meets, one after another, until one slice is left.

    Args:
        count: of the processes, a power of two.
    """
    found = []
    first, end = 0, count
    for bit in range(count.bit_length() - 1):
        middle = (first + end) // 2
        low, high = (first, middle), (middle, end)
        kept, given = (high, low) if index >> bit & 1 else (low, high)
        found.append(Meeting(index ^ (1 << bit), kept, given))
        first, end = kept
    return found


def number_of(index: int, count: int) -> int:
    """The number of the slice that process `index` owns: its bits in reverse."""
    return meetings(index, count)[-1].kept[0] if count > 1 else 0


class Slices:
    """The slices of a row.

    Args:
        stretches: of the row, in their order.
        count: of the slices, a power of two.

    Attributes:
        most_blocks: of a slice.
    """

    def __init__(self, stretches: Sequence[Stretch], count: int) -> None:
        self.stretches, self.count = stretches, count
        self._cuts = [[each.cut(n, count) for n in range(count + 1)] for each in stretches]
        self.most_blocks = max(self._blocks(number) for number in range(count))

    def ranges(self, first: int, end: int) -> list[Range]:
        """What the slices from number `first` to `end` have of each stretch."""
        return [(cuts[first], cuts[end]) for cuts in self._cuts]

    def _blocks(self, number: int) -> int:
        ranges = self.ranges(number, number + 1)
        return sum(
            len(stretch.blocks(within))
            for stretch, within in zip(self.stretches, ranges, strict=True)
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
