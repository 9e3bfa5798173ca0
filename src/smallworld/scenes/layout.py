"""Where groups stand: every layout makes one relation plainly true, and no other in its place.

A layout gives each group a region of the canvas; its things are put into the region at random,
without touching. What was placed is then checked: groups said to be side by side must overlap in
height, groups said to be one above the other in width, so that an image belongs to one layout.
"""

from collections.abc import Callable, Sequence
from random import Random
from typing import NamedTuple

from smallworld.scenes.world import CANVAS, Group

MARGIN = 2.0
GAP = 6.0  # pixels between the regions of two groups
ROOM = 3.0  # pixels between two things of one group
OVERLAP = 0.35  # of the narrower extent
TRIES = 24


class Square(NamedTuple):
    """Where a thing is drawn: its middle and its side."""

    x: float
    y: float
    side: float


class Region(NamedTuple):
    """A part of the canvas."""

    left: float
    top: float
    right: float
    bottom: float


Placed = list[list[Square]]
WHOLE = Region(MARGIN, MARGIN, CANVAS - MARGIN, CANVAS - MARGIN)


def _bands(
    whole: Region, sides: Sequence[Sequence[float]], across: bool, random: Random
) -> list[Region] | None:
    """The region cut into one band for each group: by vertical cuts if `across`, else horizontal.

    Every band has room for its widest thing; what is left over is shared out at random, more of
    it to groups of many.
    """
    least = [max(each) + 1 for each in sides]
    start, end = (whole.left, whole.right) if across else (whole.top, whole.bottom)
    spare = end - start - sum(least) - GAP * (len(sides) - 1)
    if spare < 0:
        return None
    weights = [random.random() + 0.5 * (len(each) - 1) for each in sides]
    regions = []
    for width, weight in zip(least, weights, strict=True):
        stop = start + width + spare * weight / sum(weights)
        if across:
            regions.append(Region(start, whole.top, stop, whole.bottom))
        else:
            regions.append(Region(whole.left, start, whole.right, stop))
        start = stop + GAP
    return regions


def _fill(region: Region, sides: Sequence[float], random: Random) -> list[Square] | None:
    """Squares of the sides inside the region, none touching another."""
    placed: list[Square] = []
    for side in sides:
        wide, high = region.right - region.left - side, region.bottom - region.top - side
        if wide < 0 or high < 0:
            return None
        for _ in range(TRIES):
            x = region.left + side / 2 + random.random() * wide
            y = region.top + side / 2 + random.random() * high
            if all(
                max(abs(x - each.x), abs(y - each.y)) >= (side + each.side) / 2 + ROOM
                for each in placed
            ):
                placed.append(Square(x, y, side))
                break
        else:
            return None
    return placed


def _overlap(first: list[Square], second: list[Square], across: bool) -> bool:
    """Whether two groups share enough of their extent in width (`across`) or in height."""
    (low, high), (other_low, other_high) = (
        (
            min((each.x if across else each.y) - each.side / 2 for each in group),
            max((each.x if across else each.y) + each.side / 2 for each in group),
        )
        for group in (first, second)
    )
    shared = min(high, other_high) - max(low, other_low)
    return shared >= OVERLAP * min(high - low, other_high - other_low)


def _line(
    whole: Region, sides: Sequence[Sequence[float]], across: bool, random: Random
) -> Placed | None:
    """The groups side by side (`across`) or one above the other."""
    regions = _bands(whole, sides, across, random)
    if regions is None:
        return None
    placed: Placed = []
    for region, group in zip(regions, sides, strict=True):
        squares = _fill(region, group, random)
        if squares is None:
            return None
        if any(not _overlap(squares, other, not across) for other in placed):
            return None
        placed.append(squares)
    return placed


def _row(sides: Sequence[Sequence[float]], random: Random) -> Placed | None:
    return _line(WHOLE, sides, True, random)


def _column(sides: Sequence[Sequence[float]], random: Random) -> Placed | None:
    return _line(WHOLE, sides, False, random)


def _alone(sides: Sequence[Sequence[float]], random: Random) -> Placed | None:
    squares = _fill(WHOLE, sides[0], random)
    return None if squares is None else [squares]


def _two_rows(above: int) -> Callable[[Sequence[Sequence[float]], Random], Placed | None]:
    """The first `above` groups side by side in the upper part, the others in the lower."""

    def place(sides: Sequence[Sequence[float]], random: Random) -> Placed | None:
        rows = [sides[:above], sides[above:]]
        halves = _bands(WHOLE, [[max(map(max, row))] for row in rows], False, random)
        if halves is None:
            return None
        upper, lower = (
            _line(half, row, True, random) for half, row in zip(halves, rows, strict=True)
        )
        return None if upper is None or lower is None else upper + lower

    return place


class Layout(NamedTuple):
    """A way to place groups: how many, how often it is drawn, and what places them."""

    groups: int
    weight: int
    place: Callable[[Sequence[Sequence[float]], Random], Placed | None]


LAYOUTS = {
    "inside": Layout(1, 2, _alone),
    "left and right": Layout(2, 4, _row),
    "above and below": Layout(2, 4, _column),
    "row": Layout(3, 3, _row),
    "column": Layout(3, 3, _column),
    "one above two": Layout(3, 3, _two_rows(1)),
    "two above one": Layout(3, 3, _two_rows(2)),
    "corners": Layout(4, 4, _two_rows(2)),
}


def place_inner(container: Square, group: Group, side: float, random: Random) -> Square:
    """Where a thing lies inside another: near the middle, whole inside a circle."""
    half = container.side / 2
    # The inner square's corner must stay inside a circle of 0.92 of the radius.
    reach = 0.92 * half / 2**0.5 - side / 2 if group.kind == "circle" else 0.8 * half - side / 2
    x, y = (max(0.0, reach) * (2 * random.random() - 1) for _ in range(2))
    return Square(container.x + x, container.y + y, side)
