"""Scores of several runs each: a point for each run, their mean, and their standard deviation."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jumok.plot.paper import INK, MUTED, finish, new_figure, shade

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TALL = 0.32
"""Height of a row, in inches."""


@dataclass(frozen=True)
class ScoreRow:
    """One row of the figure.

    Attributes:
        spread: the standard deviation of the scores; None: there is one.
    """

    label: str
    scores: Sequence[float]
    mean: float
    spread: float | None


def draw_rows(rows: Sequence[ScoreRow], title: str) -> "Figure":
    """One line for each row, the first at the top.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    figure = new_figure(6.4, TALL * len(rows) + 1.1)
    axes = figure.subplots()
    for place, row in enumerate(rows):
        axes.plot(row.scores, [place] * len(row.scores), "o", color=shade(2), markersize=4)
        axes.errorbar(
            row.mean, place, xerr=row.spread, fmt="|", color=INK, markersize=11, capsize=3
        )
    axes.set_yticks(range(len(rows)), [row.label for row in rows], fontsize=9)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_title(f"{title}: runs, mean and standard deviation", fontsize=9, loc="left")
    axes.tick_params(axis="y", length=0)
    axes.tick_params(axis="x", colors=MUTED)
    axes.spines[["top", "right", "left"]].set_visible(False)
    return finish(figure)
