"""Maps of weights: the alignment board, one head, all heads, and an image word by word."""

import io
from collections.abc import Iterable, Mapping, Sequence
from math import ceil
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from rich.cells import cell_len

from jumok.alignment.words import Link
from jumok.attention.role import Part
from jumok.errors import ModelError, optional_import
from jumok.inspection.explain import part_sites, readable
from jumok.inspection.findings import Unit
from jumok.inspection.page.picture import TracePicture
from jumok.inspection.trace import Array, Trace
from jumok.plot import paper
from jumok.plot.board import (
    AttentionMap,
    HeadChoice,
    MapValue,
    Scale,
    StepName,
    board,
    chosen_head,
    chosen_site,
    head_name,
    matrix,
    on_scale,
    title_of,
)
from jumok.plot.paper import CELL, GOLD, INK, colour_bar, draw_map, new_figure, with_fonts

with optional_import("drawing figures", extra="plot"):
    from matplotlib import patches
    from PIL import Image

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage

LETTER = 0.085
"""Approximate width of a Latin letter at 10 points, in inches; a Hangul syllable takes two."""

NUMBERED = 40
"""The most rows or columns at which a cell has room for its number."""

MOST_LABELLED = 100
"""With more rows or columns than this, only every second, third, ... one is labelled."""

SMALLEST_CELL = 0.04
"""Side of the smallest cell, in inches."""

BARS: dict[MapValue, str] = {"weights": "attention weight", "norms": "share of the norms"}


def alignment(
    trace: Trace,
    *,
    part: Part | None = None,
    layer: int | None = None,
    head: HeadChoice | None = None,
    value: MapValue = "weights",
    unit: Unit = "words",
    reading: StepName | None = None,
    gold: Sequence[Link] | None = None,
    scale: Scale = "one",
    rest: bool = False,
) -> "Figure":
    """The attention map of a layer: queries down, keys across.

    Args:
        part: the attention kind; None: cross-attention, or the first kind of the model.
        layer: from 0; None: the layer of the alignment setting, or the last.
        value: the weights, or the norms of the attended values as shares of the sum of the row.
        reading: the row of a target word: the step that writes it, or the step that reads it; None:
            the alignment setting of the model.
        gold: gold links (source word, target word), shown as frames. None: the gold alignment of
            the trace, with possible links dashed. For words only.
        scale: the colours end at 1, or at the largest weight of this map.
        rest: add a last column for START, END, other tokens that are not words, and a sink.

    Raises:
        ModelError: no such part, layer or head.
        MissingExtraError: matplotlib is not installed.
        DataError: the words contain Hangul, and no font has it.
    """
    site = chosen_site(trace, part, layer)
    head = chosen_head(trace, site, head)
    sunk = site.sink is not None and value == "weights" and head != "max"
    values = matrix(site, head, value)
    shown = board(trace, site, values, unit, reading, rest=rest, sunk=sunk)
    shown = on_scale(shown, scale, rest)
    what = "all heads together" if value == "norms" else head_name(site, head)
    title = f"{title_of(site)}, layer {site.layer + 1}, {what}"
    known = trace.findings.gold if site.part == "cross" and unit == "words" else None
    sure = sorted(known.sure) if known is not None and gold is None else gold or ()
    possible = sorted(known.possible - known.sure) if known is not None and gold is None else ()
    return _one(shown, title, BARS[value], {"-": sure, "--": possible})


def head(
    trace: Trace,
    *,
    part: Part | None = None,
    layer: int | None = None,
    head: int = 0,
    unit: Unit = "pieces",
) -> "Figure":
    """One head, token by token, START and END included: row i is the step that reads token i."""
    site = chosen_site(trace, part, layer)
    shown = board(trace, site, matrix(site, head), unit, "reads")
    title = f"{title_of(site)}, layer {site.layer + 1}, {head_name(site, head)}"
    return _one(shown, title, BARS["weights"])


def grid(trace: Trace, *, part: Part | None = None, scale: Scale = "one") -> "Figure":
    """Every head of an attention kind: one row of panels per layer, all on one scale.

    Args:
        part: as in `alignment`.
        scale: the colours end at 1, or at the largest weight of all heads.
    """
    sites = part_sites(trace, part)
    across = max(len(site.weights) for site in sites)
    rows, columns = sites[0].weights.shape[1:]
    wide, high = 1.3, 1.3 * min(max(rows / columns, 0.5), 2.0) + 0.25
    most = 1.0 if scale == "one" else max(float(site.weights.max()) for site in sites)
    figure = new_figure(wide * across + 1.2, high * len(sites) + 0.5)
    panels = figure.subplots(len(sites), across, squeeze=False)
    for line, site in zip(panels, sites, strict=True):
        for number, axes in enumerate(line):
            if number >= len(site.weights):
                axes.set_axis_off()
                continue
            image = draw_map(axes, site.weights[number], most)
            axes.set_title(f"{site.layer + 1}.{number + 1}", fontsize=9)
            axes.set_xticks([])
            axes.set_yticks([])
    figure.suptitle(f"{title_of(sites[0])}: layer.head", fontsize=11, color=INK)
    colour_bar(figure, image, panels, BARS["weights"])
    return with_fonts(figure)


def pictures(trace: Trace, *, layer: int | None = None, head: HeadChoice | None = None) -> "Figure":
    """The image, then a copy for each token with the weights of the step that wrote the token.

    All maps have the same scale: from 0 to the largest weight of all steps.

    Args:
        layer, head: as in `alignment`.

    Raises:
        ModelError: the trace is not from a captioner.
    """
    site = chosen_site(trace, "cross", layer)
    size = trace.axes[site.keys].grid
    if trace.picture is None or size is None:
        raise ModelError(
            "this trace has no image.", do="give the trace of a captioner: jumok look MODEL PHOTO"
        )
    picture = pixels_of(trace.picture)
    weights = matrix(site, chosen_head(trace, site, head))
    most = float(weights.max())
    tokens = [readable(step.token) for step in trace.steps]
    across = min(5, 1 + len(tokens))
    down = ceil((1 + len(tokens)) / across)
    figure = new_figure(1.9 * across + 1.2, 2.15 * down + 0.2)
    panels = figure.subplots(down, across, squeeze=False)
    for axes in panels.flat:
        axes.set_axis_off()
    whole, *rest = panels.flat
    whole.imshow(picture)
    for axes, row, token in zip(rest, weights, tokens, strict=False):
        image = draw_over(axes, picture, row.reshape(size), most)
        axes.set_title(token, fontsize=10)
    colour_bar(figure, image, panels, BARS["weights"])
    return with_fonts(figure)


def pixels_of(picture: TracePicture) -> Array:
    """What the model saw, (height width 3)."""
    pixels: Array = np.asarray(Image.open(io.BytesIO(picture.png)).convert("RGB"))
    return pixels


def draw_over(
    axes: "Axes", picture: Array | None, values: npt.NDArray[np.floating], most: float
) -> "AxesImage":
    """The map over the image in grey. Cells are not smoothed: the model knows nothing finer.

    Args:
        picture: (height width 3); None: it was not kept, and the map is drawn alone.
        values: (rows columns). most: the value that has the darkest colour.
    """
    height, width = values.shape if picture is None else picture.shape[:2]
    if picture is not None:
        grey = picture.mean(axis=2)
        axes.imshow(grey, cmap="gray", vmin=0, vmax=255, extent=(0, width, height, 0))
    alpha = 1.0 if picture is None else 0.72
    return axes.imshow(
        values, cmap=paper.colours(), vmin=0.0, vmax=most, alpha=alpha, extent=(0, width, height, 0)
    )


def _one(
    shown: AttentionMap, title: str, bar: str, gold: Mapping[str, Iterable[Link]] | None = None
) -> "Figure":
    """One map, as large as its words need, with numbers where there is room."""
    rows, columns = len(shown.rows), len(shown.columns)
    longest = max(rows, columns)
    cell = CELL if longest <= NUMBERED else max(SMALLEST_CELL, CELL * NUMBERED / longest)
    every = ceil(longest / MOST_LABELLED)
    size = 10 if longest <= NUMBERED else 10 * min(1.0, every * cell / CELL * 1.6)
    letter = LETTER * size / 10
    left, above = (letter * max(map(cell_len, words)) for words in (shown.rows, shown.columns))
    figure = new_figure(cell * columns + left + above + 1.5, cell * rows + above + 0.7)
    axes = figure.subplots()
    image = draw_map(axes, shown.values, shown.most)
    axes.xaxis.tick_top()
    axes.set_xticks(range(0, columns, every), shown.columns[::every], fontsize=size)
    for label in axes.get_xticklabels():
        label.set(rotation=40, horizontalalignment="left", rotation_mode="anchor")
    axes.set_yticks(range(0, rows, every), shown.rows[::every], fontsize=size)
    if longest <= NUMBERED:
        for (row, column), value in np.ndenumerate(shown.values):
            if value >= 0.1 * shown.most:
                ink = "#ffffff" if value > 0.45 * shown.most else INK
                text = f"{100 * float(value):.{0 if shown.most >= 0.1 else 1}f}"
                axes.text(column, row, text, ha="center", va="center", fontsize=8, color=ink)
    for style, links in (gold or {}).items():
        for source, target in links:
            place = source - 0.46, target - 0.46
            frame = patches.Rectangle(
                place, 0.92, 0.92, fill=False, edgecolor=GOLD, linewidth=1.6, linestyle=style
            )
            axes.add_patch(frame)
    axes.set_title(title, fontsize=10, color=INK, loc="left")
    colour_bar(figure, image, axes, bar)
    return with_fonts(figure)
