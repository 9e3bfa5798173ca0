"""The gradient is summed over the processes slice by slice, and the weights come back whole.

Each process owns a slice of the row (`slices.py`). Sums are made in the tree of `halved`, whose
order depends on the number of shares alone.
"""

from collections.abc import Iterator, Sequence
from itertools import accumulate, groupby

import torch

from jumok.shapes import Float, Shaped, Tensor
from jumok.training.optimization.slices import WINDOW, Slices, meetings, number_of
from jumok.training.ranks import Ranks, halved


class Exchange:
    """The slice of this process, and the way to the others.

    Attributes:
        number: of its slice; and of its shares, modulo the number of processes.
        ranges: what it owns of each stretch of the row. One after another, they are the slice.
        size: elements of the slice.
    """

    def __init__(self, slices: Slices, ranks: Ranks) -> None:
        self._slices, self._ranks = slices, ranks
        self.number = number_of(ranks.index, ranks.count)
        self.ranges = slices.ranges(self.number, self.number + 1)
        self.size = sum(end - start for start, end in self.ranges)
        self._meetings = meetings(ranks.index, ranks.count)

    def cut(self, row: Shaped[Tensor, " size"]) -> Shaped[Tensor, " slice"]:
        """A copy of the slice."""
        return torch.cat([row[start:end] for start, end in self.ranges])

    def sum_up(
        self, parts: Sequence[Float[Tensor, " size"]], total: Float[Tensor, " slice"]
    ) -> None:
        """Writes the sum of the parts of all processes, in float32, into the slice `total`.

        Args:
            parts: of this process: those whose numbers are `self.number` modulo the processes.
        """
        filled = 0
        at_once = WINDOW if total.device.type == "cpu" else max(1, len(total))
        for window in self._slices.windows(at_once):
            sums = [halved([part[start:end] for part in parts])[0] for start, end in window]
            held = sums[0] if len(sums) == 1 else torch.cat(sums)
            places = [0, *accumulate(end - start for start, end in window)]
            first = 0
            for meeting in self._meetings:
                kept, given = (
                    held[places[start] - places[first] : places[end] - places[first]]
                    for start, end in (meeting.kept, meeting.given)
                )
                theirs = torch.empty_like(kept)
                self._ranks.swap(meeting.other, given, theirs)
                [held] = halved([kept, theirs])
                first = meeting.kept[0]
            total[filled : filled + len(held)] = held
            filled += len(held)

    def spread(self, own: Float[Tensor, " slice"], row: Float[Tensor, " size"]) -> None:
        """Fills the row with the slices of all processes, rounded to its precision."""
        for (start, end), part in zip(self.ranges, self._parts(own), strict=True):
            row[start:end] = part
        for meeting in reversed(self._meetings):
            ours, theirs = (self._slices.ranges(*some) for some in (meeting.kept, meeting.given))
            for (start, end), (first, last) in zip(ours, theirs, strict=True):
                self._ranks.swap(meeting.other, row[start:end], row[first:last])

    def collect(self, own: Float[Tensor, " slice"]) -> Float[Tensor, " size"]:
        """The whole row in the first process; in the others it is empty."""
        nothing = own[:0]
        if self._ranks.index:
            for part in self._parts(own):
                self._ranks.swap(0, part, nothing)
            return nothing
        row = own.new_empty(self._slices.stretches[-1].places[-1])
        for (start, end), part in zip(self.ranges, self._parts(own), strict=True):
            row[start:end] = part
        for other in range(1, self._ranks.count):
            number = number_of(other, self._ranks.count)
            for start, end in self._slices.ranges(number, number + 1):
                self._ranks.swap(other, nothing, row[start:end])
        return row

    def norms(self, own: Float[Tensor, " slice"]) -> Float[Tensor, " blocks"]:
        """The norm of each block of the slice, from one place for a cut to the next.

        So they do not depend on the number of processes. To be called by a thread that has one
        core: several would add up the squares of a block in another order.
        """
        found = [own[:0]]
        for stretch, within, part in zip(
            self._slices.stretches, self.ranges, self._parts(own), strict=True
        ):
            start = 0
            for length, equal in groupby(stretch.blocks(within)):
                end = start + length * len(list(equal))
                found.append(torch.linalg.vector_norm(part[start:end].view(-1, length), dim=1))
                start = end
        return torch.cat(found)

    def all_norms(self, own: Float[Tensor, " blocks"]) -> Float[Tensor, " all_blocks"]:
        """Those of all processes, in any order."""
        padded = own.new_zeros(self._slices.most_blocks)
        padded[: len(own)] = own
        # A padding of zeros adds nothing to a sum of squares.
        return torch.cat(list(self._ranks.gather(padded)))

    def _parts(self, own: Float[Tensor, " slice"]) -> Iterator[Float[Tensor, " part"]]:
        """What a slice has of each stretch."""
        lengths = [end - start for start, end in self.ranges]
        yield from own.split(lengths)
