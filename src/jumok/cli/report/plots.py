"""Plots as inline SVG: no script, no network, every text escaped.

Colours are CSS variables (--ink --muted --grid --page --heat --line-1 --line-2 ...), so that the
surrounding page chooses light or dark.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from math import ceil, cos, floor, log10, radians, sin

from rich.cells import cell_len

from jumok.alignment.words import Link
from jumok.shapes import Float, Tensor

CELL = 34  # side of one cell of a grid
LETTER = 7.4  # approximate width of a Latin letter at 13 px; a Hangul syllable takes two
TILT = 38  # slant of the column headings, in degrees


@dataclass(frozen=True)
class Line:
    """A line of a chart: its points are (x, y), and its name is printed at its end."""

    name: str
    points: Sequence[tuple[float, float]]
    dots: bool = False


def chart(lines: Sequence[Line], title: str, x_title: str, most: float = 0.0) -> str:
    """Lines over common axes, both from zero.

    Args:
        title: what the y axis counts.
        x_title: what the x axis counts.
        most: the y axis reaches at least this value: 100 for percentages.
    """
    lines = [line for line in lines if line.points]
    if not lines:
        return ""
    width, height, left, top, bottom = 470, 240, 40, 30, 34
    # The labels at the ends of the lines need room: 8 pixels a letter, at 12 in bold.
    right = max(116, 14 + 8 * max(len(_ending(line)) for line in lines))
    x_end = max(x for line in lines for x, _ in line.points) or 1.0
    y_ticks = ticks(0.0, max(most, *(y for line in lines for _, y in line.points)) or 1.0)

    def place(x: float, y: float) -> tuple[float, float]:
        return (
            round(left + x / x_end * (width - left - right), 1),
            round(height - bottom - y / y_ticks[-1] * (height - top - bottom), 1),
        )

    parts = [f'<text class="heading" x="0" y="14">{escape(title)}</text>']
    for tick in y_ticks:
        y = place(0.0, tick)[1]
        parts.append(f'<path class="grid" d="M{left} {y}H{width - right}"/>')
        parts.append(f'<text class="tick end" x="{left - 8}" y="{y + 4}">{tick:g}</text>')
    for tick in ticks(0.0, x_end):
        if tick <= x_end:
            x = place(tick, 0.0)[0]
            parts.append(f'<text class="tick middle" x="{x}" y="{height - 16}">{tick:,g}</text>')
    parts.append(f'<text class="tick end" x="{width - right}" y="{height - 2}">{x_title}</text>')
    ends = _apart([place(*line.points[-1])[1] for line in lines], 16.0)
    for number, (line, end) in enumerate(zip(lines, ends, strict=True), start=1):
        parts += _drawn(line, number, [place(*point) for point in line.points], end)
    return _svg(width, height, title, parts)


def _ending(line: Line) -> str:
    """The label at a line's end: its name and its last value."""
    return f"{line.name} {line.points[-1][1]:.3g}"


def _drawn(line: Line, number: int, places: Sequence[tuple[float, float]], end: float) -> list[str]:
    """The line, its points with their values as tooltips, and its name at its end."""
    colour = f"var(--line-{number})"
    path = "M" + "L".join(f"{x} {y}" for x, y in places)
    parts = [f'<path class="line" style="stroke:{colour}" d="{path}"/>']
    if line.dots:
        for (x, y), (step, value) in zip(places, line.points, strict=True):
            parts.append(
                f'<circle cx="{x}" cy="{y}" r="3.5" style="fill:{colour}">'
                f"<title>{step:,g}: {value:.2f}</title></circle>"
            )
    name = escape(_ending(line))
    x = places[-1][0] + 8
    parts.append(f'<text class="name" x="{x}" y="{end + 4}" style="fill:{colour}">{name}</text>')
    return parts


def attention_grid(
    weights: Float[Tensor, "target_words source_words"],
    source: Sequence[str],
    target: Sequence[str],
    gold: Sequence[Link] = (),
) -> str:
    """An attention map: source words across, target words down; the larger the weight, the darker.

    The shade is the weight itself, from 0 to 1, in every grid, so grids can be compared.

    Args:
        gold: gold links, which are framed.
    """
    right_links = set(gold)
    left = 16 + LETTER * max(map(cell_len, target), default=0)
    rise = LETTER * max(map(cell_len, source), default=0)
    top = 22 + rise * sin(radians(TILT))
    width = left + CELL * len(source) + rise * cos(radians(TILT)) * 0.6 + 12
    height = top + CELL * len(target) + 4
    parts = []
    for column, word in enumerate(source):
        x, y = left + CELL * (column + 0.5), top - 8
        turn = f"rotate({-TILT} {x:.1f} {y:.1f})"
        parts.append(
            f'<text class="word" x="{x:.1f}" y="{y:.1f}" transform="{turn}">{escape(word)}</text>'
        )
    for row, word in enumerate(target):
        y = top + CELL * (row + 0.5) + 5
        parts.append(f'<text class="word end" x="{left - 8:.1f}" y="{y:.1f}">{escape(word)}</text>')
        for column, other in enumerate(source):
            weight = min(max(float(weights[row, column]), 0.0), 1.0)
            place = (left + CELL * column, top + CELL * row)
            label = f"{word} → {other}: {weight:.2f}"
            parts.append(_cell(place, weight, label, (column, row) in right_links))
    return _svg(ceil(width), ceil(height), "attention", parts)


def _cell(place: tuple[float, float], weight: float, label: str, right: bool) -> str:
    x, y = place
    side = CELL - 2
    frame = " right" if right else ""
    number = ""
    if weight >= 0.1:
        shade = "light" if weight > 0.55 else "dark"
        number = (
            f'<text class="weight {shade}" x="{x + CELL / 2 - 1:.1f}" y="{y + CELL / 2 + 3:.1f}">'
            f"{100 * weight:.0f}</text>"
        )
    return (
        f'<g><title>{escape(label)}</title><rect class="empty{frame}" x="{x:.1f}" y="{y:.1f}" '
        f'width="{side}" height="{side}" rx="4"/><rect class="heat" x="{x:.1f}" y="{y:.1f}" '
        f'width="{side}" height="{side}" rx="4" fill-opacity="{weight:.3f}"/>{number}</g>'
    )


def ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Round numbers from at or below `low` to at or above `high`: steps of 1, 2 or 5 x 10^n."""
    span = max(high - low, 1e-9)
    magnitude = 10.0 ** floor(log10(span / most))
    step = next(
        factor * magnitude for factor in (1, 2, 5, 10) if span / (factor * magnitude) <= most
    )
    first, last = floor(low / step + 1e-9), ceil(high / step - 1e-9)
    return [round(number * step, 10) for number in range(first, last + 1)]


def _apart(heights: Sequence[float], least: float) -> list[float]:
    """The heights, moved down where two would be closer than `least`."""
    order = sorted(range(len(heights)), key=lambda index: heights[index])
    moved = list(heights)
    for above, below in pairwise(order):
        moved[below] = max(moved[below], moved[above] + least)
    return moved


def _svg(width: int, height: int, label: str, parts: Sequence[str]) -> str:
    return (
        f'<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" '
        f'aria-label="{escape(label)}">{"".join(parts)}</svg>'
    )
