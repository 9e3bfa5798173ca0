"""Heatmaps of attention weights for the terminal."""

from collections.abc import Sequence

from rich.cells import cell_len, set_cell_size

from jumok.shapes import Float, Tensor

WIDEST = 24
SHADES = (" ", "░", "▒", "▓", "█")


def heatmap(
    weights: Float[Tensor, "target_words source_words"],
    source: Sequence[str],
    target: Sequence[str],
    width: int = 80,
) -> str:
    """The weights drawn for a terminal: source words across, target words down.

    The shade shows the weight itself: blank below 1/8, then a step every 1/4. Wide characters
    (Hangul takes two columns) stay aligned; a source wider than the terminal has several panels.

    Args:
        width: columns of the terminal.
    """
    margin = max((_width(word) for word in target), default=0)
    panels: list[list[int]] = [[]]
    used = margin
    for column, word in enumerate(source):
        if panels[-1] and used + 1 + _width(word) > width:
            panels.append([])
            used = margin
        panels[-1].append(column)
        used += 1 + _width(word)
    return "\n\n".join(_panel(weights, source, target, panel, margin) for panel in panels)


def _panel(
    weights: Tensor, source: Sequence[str], target: Sequence[str], columns: list[int], margin: int
) -> str:
    widths = {column: _width(source[column]) for column in columns}
    head = [set_cell_size(source[column], widths[column]) for column in columns]
    lines = [" ".join([" " * margin, *head])]
    for row, word in enumerate(target):
        shades = {column: _shade(float(weights[row, column])) for column in columns}
        cells = [shades[column] * widths[column] for column in columns]
        lines.append(" ".join([set_cell_size(word, margin), *cells]))
    return "\n".join(line.rstrip() for line in lines)


def _shade(weight: float) -> str:
    return SHADES[round(weight * (len(SHADES) - 1))]


def _width(word: str) -> int:
    """Columns for a word: 1 to WIDEST."""
    return min(max(cell_len(word), 1), WIDEST)
