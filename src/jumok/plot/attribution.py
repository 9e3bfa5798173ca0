"""Attribution: every measure side by side, how far they agree, and source against prefix."""

from collections.abc import Mapping
from math import ceil
from typing import TYPE_CHECKING

import numpy as np

from jumok.errors import ModelError, optional_import
from jumok.inspection.explain import readable
from jumok.inspection.findings import Attributions, Numbers, Unit
from jumok.inspection.trace import Trace
from jumok.plot.maps import draw_over, pixels_of
from jumok.plot.paper import (
    INK,
    MUTED,
    colour_bar,
    draw_map,
    effect,
    new_figure,
    shade,
    with_fonts,
)

with optional_import("drawing figures", extra="plot"):
    from matplotlib import patches

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

MEASURE_NAMES = {
    "weights": "attention",
    "norms": "attended norm",
    "rollout": "rollout",
    "flow": "flow",
    "product": "gradient × input",
    "slope": "gradient",
    "blank": "occlusion",
    "patch": "pixel occlusion",
}
ROW_HEIGHT = 0.24
"""Height of a bar, in inches."""

ACROSS = 4
"""The number of maps in a row."""

EFFECTS = ("blank", "patch")
"""Measures that take something away, which have a colour of their own."""

PALE = 2.0
"""The end of the scale of correlations: 1 has a middle shade, as it is no weight."""

LEAST_FRAMED = 0.005
"""A negative share smaller than this is not framed."""


def mattered(trace: Trace, word: int | str = 0, *, unit: Unit = "words") -> "Figure":
    """The attribution of one word of the output, as shares of each measure; negative shares are
    hollow.

    For an image, the shares are maps on one scale for all measures and words, from 0 to the largest
    share; framed cells made the word less probable. Below the bars or maps are the rank
    correlations for this word and their mean over all words, and for each word the share of the
    source against the prefix.

    Raises:
        ModelError: no such word, or a trace without attributions.
    """
    facts = (trace.findings.attribution or {}).get(unit)
    if facts is None:
        raise ModelError(
            "this trace contains no attributions.",
            do="record a translation, a caption or a language model again, with nothing changed",
        )
    read, words = trace.axes[facts.read], unit == "words" and facts.own
    written = (
        list(trace.axes[facts.own].texts)
        if words
        else [readable(each.token) for each in trace.steps]
    )
    row = _word_number(word, written)
    end = row + 1 if facts.own == facts.read else None
    columns = list(read.texts if unit == "words" else map(readable, read.tokens))[:end]
    if unit == "words" and any(facts.read in each for each in facts.rest.values()):
        columns.append("rest")  # what is no word: START, END
    shared = bool(facts.shares)
    lines = ceil(len(facts.measures) / ACROSS)
    tall = ROW_HEIGHT * len(columns) + 0.9 if read.grid is None else 2.1 * lines + 0.5
    heights = [tall, 3.1, 2.0][: 3 if shared else 2]
    figure = new_figure(1.35 * len(facts.measures) + 1.2, sum(heights))
    grid = figure.add_gridspec(len(heights), 1, height_ratios=heights)
    parts = [figure.add_subfigure(grid[place]) for place in range(len(heights))]
    if read.grid is None:
        _share_bars(parts[0], facts, row, columns)
    else:
        _share_maps(parts[0], trace, facts, row, read.grid)
    parts[0].suptitle(f"Attribution of {written[row]}: shares of each measure, %", fontsize=11)
    _ranks(parts[1], facts, row, written[row])
    if shared:
        what = "source" if read.grid is None else "picture"
        _source_shares(parts[2].subplots(), facts.shares, written, row, what)
    return with_fonts(figure)


def _word_number(word: int | str, written: list[str]) -> int:
    if isinstance(word, str) and word in written:
        return written.index(word)
    number = word if isinstance(word, int) else int(word) - 1 if word.isdecimal() else -1
    if not 0 <= number < len(written):
        raise ModelError(
            "the output has no such word.",
            expected=f"one of {' '.join(written)}, or 1 to {len(written)}",
            got=str(number + 1 if isinstance(word, int) else word),
        )
    return number


def _share_bars(figure: "SubFigure", facts: Attributions, row: int, columns: list[str]) -> None:
    panels = figure.subplots(1, len(facts.measures), sharey=True)
    for axes, (name, measure) in zip(panels, facts.measures.items(), strict=True):
        left = facts.rest.get(name, {}).get(facts.read)
        words = len(columns) if left is None else len(columns) - 1
        values = measure[facts.read][row][:words]
        if left is not None:
            values = np.append(values, left[row])
        shares = 100 * values / max(np.abs(values).sum(), 1e-30)
        drawn = axes.barh(range(len(columns)), np.abs(shares), color=_colour(name), height=0.66)
        for place, (bar, share) in enumerate(zip(drawn, shares, strict=True)):
            if share < 0:
                bar.set(facecolor="none", edgecolor=INK, linewidth=0.8)
            if abs(share) >= 0.5:
                text = f" {share:.0f}".replace("-", "−")
                axes.text(abs(share), place, text, va="center", fontsize=8)
        axes.set_xlim(0, 130)
        axes.set_ylim(len(columns) - 0.5, -0.5)
        axes.set_title(MEASURE_NAMES[name], fontsize=9, loc="left")
        axes.set_xticks([])
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
    panels[0].set_yticks(range(len(columns)), columns, fontsize=9)


def _colour(name: str, place: int = 3) -> str | tuple[float, ...]:
    return effect() if name in EFFECTS else shade(place)


def _share_maps(
    figure: "SubFigure", trace: Trace, facts: Attributions, row: int, grid: tuple[int, int]
) -> None:
    cells = grid[0] * grid[1]  # what comes before them, as [CLS], has no place in the image
    shares = {
        name: _shares_of(each[facts.read][:, -cells:]) for name, each in facts.measures.items()
    }
    most = max(float(np.abs(each).max()) for each in shares.values())
    picture = None if trace.picture is None else pixels_of(trace.picture)
    panels = figure.subplots(ceil(len(shares) / ACROSS), ACROSS, squeeze=False)
    for axes in panels.flat:
        axes.set_axis_off()
    rows, columns = grid
    height, width = (rows, columns) if picture is None else picture.shape[:2]
    for axes, (name, of_measure) in zip(panels.flat, shares.items(), strict=False):
        values = of_measure[row].reshape(grid)
        image = draw_over(axes, picture, np.abs(values), most)
        axes.set_title(MEASURE_NAMES[name], fontsize=9, loc="left")
        for y, x in np.argwhere(values <= -LEAST_FRAMED):
            corner = (x * width / columns, y * height / rows)
            wide, high = width / columns, height / rows
            axes.add_patch(
                patches.Rectangle(corner, wide, high, fill=False, edgecolor=INK, linewidth=0.8)
            )
    colour_bar(figure, image, panels, "share of the measure")


def _shares_of(values: Numbers) -> Numbers:
    """Each row as shares of its own sum of sizes."""
    shares: Numbers = values / np.abs(values).sum(axis=1, keepdims=True).clip(1e-30)
    return shares


def _ranks(figure: "SubFigure", facts: Attributions, row: int, word: str) -> None:
    """Spearman's rank correlations as a table; those below 0 have the shade of 0."""
    names = [MEASURE_NAMES[name] for name in facts.measures]
    panels = figure.subplots(1, 2)
    tables = {f"Rank correlation for {word}": facts.ranks[row], "Mean": facts.mean_ranks}
    for axes, (title, values) in zip(panels, tables.items(), strict=True):
        draw_map(axes, np.nan_to_num(values), PALE)
        for (i, j), value in np.ndenumerate(values):
            if not np.isnan(value):
                text = f"{value:.1f}".replace("-", "−")
                axes.text(j, i, text, ha="center", va="center", fontsize=8, color=INK)
        axes.set_xticks(range(len(names)), [str(i + 1) for i in range(len(names))], fontsize=8)
        axes.set_yticks(
            range(len(names)), [f"{i + 1} {n}" for i, n in enumerate(names)], fontsize=8
        )
        axes.set_title(title, fontsize=10, loc="left")


def _source_shares(
    axes: "Axes", shares: Mapping[str, Numbers], written: list[str], row: int, what: str
) -> None:
    width = 0.8 / len(shares)
    for number, (name, share) in enumerate(shares.items()):
        places = np.arange(len(written)) + (number - (len(shares) - 1) / 2) * width
        heights = 100 * share
        axes.bar(
            places,
            heights,
            width * 0.92,
            color=_colour(name, number + 2),
            label=MEASURE_NAMES[name],
        )
    axes.axvspan(row - 0.5, row + 0.5, color=MUTED, alpha=0.12, linewidth=0, zorder=0)
    axes.set_ylim(0, 100)
    axes.set_xticks(range(len(written)), written, fontsize=9, rotation=30, ha="right")
    axes.set_title(
        f"Share of the {what}, against what was written before, %", fontsize=10, loc="left"
    )
    axes.legend(fontsize=8, frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
    axes.spines[["top", "right"]].set_visible(False)
