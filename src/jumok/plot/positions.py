"""Position encodings: the table of vectors or angles, and its curves over distance."""

from typing import TYPE_CHECKING

import numpy as np

from jumok.errors import ModelError
from jumok.inspection.findings import StackPositions
from jumok.inspection.trace import Trace
from jumok.plot.learning_curves import COLOURS
from jumok.plot.paper import INK, MUTED, colours, diverging_colours, new_figure, with_fonts

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LEGEND = 8
"""The most curves that are named."""

CURVES = {
    "rotary": "mean cosine of the angles of rotation",
    "alibi": "factor on the weight of a key, e^bias",
    "relative": "factor on the weight of a key, e^bias, as a share of the largest",
}
BIASES = "alibi", "relative"
CURVES_OF_A_TABLE = "cosine of the vectors of two positions"

OWN_SCALE = ("learned", "index")
"""The encodings whose values are not from -1 to 1."""


def positions(trace: Trace, stack: str | None = None) -> "Figure":
    """The position encoding of a model, as an image and as curves over the distance.

    A table of vectors (sinusoidal, learned, index, fraction, binary): positions down, dimensions
    across; the curve is the cosine of two positions by their distance, the mean over all pairs with
    the range from the smallest to the largest. Rotary: the cosine of the angle of each pair of
    dimensions by distance, and its mean. ALiBi, relative: e^bias of each head by distance.

    Args:
        trace: one with the analysis of the layers, from `jumok.trace` or `jumok look`.
        stack: "encoder" or "decoder"; None: the first with a position encoding.

    Raises:
        ModelError: the trace has no position encodings, or none of this stack.
        MissingExtraError: matplotlib is not installed.
    """
    name, place = _chosen_stack(trace, stack)
    image = place.picture
    assert image is not None
    most = (np.abs(image).max() or 1.0) if place.kind in OWN_SCALE else 1.0
    figure = new_figure(9.6, 3.8)
    left, right = figure.subplots(1, 2, width_ratios=(1.15, 1))
    factors = place.kind in BIASES  # from 0 to 1
    drawn = left.imshow(
        image, cmap=colours() if factors else diverging_colours(),
        vmin=0 if factors else -most, vmax=most, aspect="auto",
        extent=(0.5, image.shape[1] + 0.5, len(image) - 0.5, -0.5), interpolation="nearest",
    )  # fmt: skip
    left.spines[:].set_visible(False)
    for axis in (left.xaxis, left.yaxis, right.xaxis):
        axis.get_major_locator().set_params(integer=True)
    left.set_xlabel(place.columns, color=MUTED)
    left.set_ylabel(place.rows, color=MUTED)
    bar = figure.colorbar(drawn, ax=left, shrink=0.8, aspect=24)
    bar.outline.set_visible(False)
    _plot_curves(right, place)
    figure.suptitle(f"position encoding of the {name}: {place.kind}", fontsize=11, color=INK)
    return with_fonts(figure)


def _chosen_stack(trace: Trace, stack: str | None) -> tuple[str, StackPositions]:
    """The name of the stack and its encoding, which may be that of another stack."""
    layers = trace.findings.layers
    places = {} if layers is None else layers.positions
    if not places:
        raise ModelError(
            "this trace contains no position encodings.",
            do='record it again: jumok look MODEL "..." --save FILE.npz',
        )
    known = {
        name: places[place.same or name]
        for name, place in places.items()
        if places[place.same or name].picture is not None
    }
    name = stack or next(iter(known), "")
    if name not in known:
        kinds = ", ".join(f"{each}: {place.kind}" for each, place in places.items())
        raise ModelError(
            "there is no position encoding to draw.",
            expected=" or ".join(known) or "a model that encodes positions; an RNN needs none",
            got=f"{stack} of {kinds}" if stack else kinds,
        )
    return name, known[name]


def _plot_curves(axes: "Axes", place: StackPositions) -> None:
    """The mean with the range of all pairs, or a curve for each head."""
    curves = place.curves
    along = range(len(next(iter(curves.values()))))
    if "least" in curves:
        axes.fill_between(
            along, curves["least"], curves["largest"], color=COLOURS[5], alpha=0.35, linewidth=0
        )
    named = {name: curve for name, curve in curves.items() if name not in ("least", "largest")}
    for number, (name, curve) in enumerate(named.items()):
        style = "--" if number >= len(COLOURS) else "-"
        axes.plot(
            along, curve, style, color=COLOURS[number % len(COLOURS)], linewidth=1.6, label=name
        )
    if 1 < len(named) <= LEGEND:
        axes.legend(frameon=False, fontsize=8)
    axes.set_title(CURVES.get(place.kind, CURVES_OF_A_TABLE), fontsize=9, loc="left")
    axes.set_xlabel("distance", color=MUTED)
    axes.set_ylim(0 if place.kind in BIASES else -1, 1.05)
    axes.spines[["top", "right"]].set_visible(False)
