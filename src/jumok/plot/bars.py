"""Bars: one row step by step, the ablation of each head, and the alternatives at each step."""

from math import ceil, exp
from typing import TYPE_CHECKING

import numpy as np

from jumok.attention.role import Part
from jumok.errors import ModelError
from jumok.inspection.explain import PART_ORDER, explain, readable
from jumok.inspection.trace import Site, Trace
from jumok.plot.board import chosen_site, title_of
from jumok.plot.cursor import opening
from jumok.plot.paper import INK, MUTED, effect, new_figure, shade, with_fonts

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BAR_HEIGHT = 0.26
"""Height of a bar, in inches."""


def row(
    trace: Trace,
    query: int | None = None,
    *,
    part: Part | None = None,
    layer: int | None = None,
    head: int | None = None,
) -> "Figure":
    """One row: the scores before the softmax, the weights after it, and the norm of each key.

    Args:
        query: the index of the row, from 0; None: the row that the page shows first.
        head: None: the head that the page shows, with the largest weight in its cell.
        part, layer: as in `alignment`.

    Raises:
        ModelError: no such part, layer, head or row; a trace with weights only.
    """
    site = chosen_site(trace, part, layer)
    rows = len(trace.axes[site.queries].tokens)
    if query is None:
        query, head = opening(trace, site, head)
    if not 0 <= query < rows:
        raise ModelError("there is no such row.", expected=f"1 to {rows}", got=str(query + 1))
    explained = explain(trace, site, query, head)
    keys = [look.key for look in explained.looks]
    product = "v · tanh(q + k)" if site.energy is not None else "q · k"
    made = "recorded" if site.scale is None else f"{product} × {site.scale:.4g}"
    panels = {
        f"score: {made}": [look.score for look in explained.looks],
        "weight: softmax of the scores": [look.weight for look in explained.looks],
        "attended norm: |weight × value|": [look.given for look in explained.looks],
    }
    figure = new_figure(9.6, BAR_HEIGHT * len(keys) + 1.3)
    for number, (axes, (title, values)) in enumerate(
        zip(figure.subplots(1, 3, sharey=True), panels.items(), strict=True)
    ):
        _bar_panel(axes, keys if number == 0 else [], values, "{:.3f}")
        axes.set_title(title, fontsize=9, loc="left")
        for place, value in enumerate(values):
            if not np.isfinite(value):
                axes.text(0, place, " hidden by the mask", va="center", fontsize=8, color=MUTED)
    figure.suptitle(
        f"{_step_name(trace, site, query)}: {title_of(site)}, layer {site.layer + 1}, "
        f"head {explained.head + 1}",
        fontsize=11,
        color=INK,
    )
    return with_fonts(figure)


def _step_name(trace: Trace, site: Site, query: int) -> str:
    """A query, or the step that has read one token and writes the next."""
    tokens = trace.axes[site.queries].tokens
    written = [*tokens[1:], *(step.token for step in trace.steps[len(tokens) - 1 :])]
    read = readable(tokens[query])
    if site.part not in ("decoder", "cross") or query >= len(written):
        return read
    return f"reads {read} → writes {readable(written[query])}"


def switches(trace: Trace) -> "Figure":
    """The change of the log-probability of the output when each head is ablated alone.

    Raises:
        ModelError: the trace has no such values.
    """
    ablation = trace.findings.ablation or {}
    sites = [
        site
        for part in PART_ORDER
        for site in trace.sites
        if site.part == part and site.name in ablation
    ]
    if not sites:
        raise ModelError(
            "this trace contains no head-ablation results.",
            do="record it again, with all heads on and worth=True",
        )
    names = [
        f"{title_of(site)} {site.layer + 1}.{head + 1}"
        for site in sites
        for head in range(len(ablation[site.name]))
    ]
    values = [float(change) for site in sites for change in ablation[site.name].sum(axis=1)]
    figure = new_figure(6.4, BAR_HEIGHT * len(names) + 1.1)
    axes = figure.subplots()
    for bar in _bar_panel(axes, names, values, "{:.2f}"):
        bar.set_facecolor(effect())
    axes.axvline(0, color=MUTED, linewidth=0.8)
    axes.set_xlabel("change of the log-probability (nats) when this head alone is off")
    return with_fonts(figure)


def choices(trace: Trace) -> "Figure":
    """The most probable tokens at each step, in percent; the written token is dark.

    Raises:
        ModelError: the trace has no steps.
    """
    if not trace.steps:
        raise ModelError("this trace has no steps: nothing was written.")
    across = min(4, len(trace.steps))
    down = ceil(len(trace.steps) / across)
    figure = new_figure(2.7 * across, (BAR_HEIGHT * len(trace.steps[0].best) + 0.75) * down)
    panels = figure.subplots(down, across, squeeze=False)
    for axes in panels.flat:
        axes.set_axis_off()
    dark, pale = (shade(place) for place in (3, 1))
    for number, (axes, step) in enumerate(zip(panels.flat, trace.steps, strict=False), start=1):
        axes.set_axis_on()
        values = [100 * exp(value) for _, value in step.best]
        bars = _bar_panel(axes, [readable(token) for token, _ in step.best], values, "{:.2g} %")
        for bar, (token, _) in zip(bars, step.best, strict=True):
            bar.set_facecolor(dark if token == step.token else pale)
        axes.set_xlim(0, 130)
        axes.set_xticks([])
        axes.set_title(f"{number}. {readable(step.token)}", fontsize=10, loc="left")
    return with_fonts(figure)


def _bar_panel(axes: "Axes", names: list[str], values: list[float], form: str) -> list:  # type: ignore[type-arg]
    """A bar for each value, the first at the top, with its number at its end."""
    places = range(len(values))
    lengths = [value if np.isfinite(value) else 0.0 for value in values]
    drawn = axes.barh(places, lengths, color=shade(3), height=0.68)
    if names:
        axes.set_yticks(places, names, fontsize=9)
    axes.set_ylim(len(values) - 0.5, -0.5)
    axes.tick_params(length=0)
    for side in axes.spines.values():
        side.set_visible(False)
    for place, value in zip(places, values, strict=True):
        if not np.isfinite(value):
            continue
        axes.annotate(
            form.format(value),
            (value, place),
            xytext=(3 if value >= 0 else -3, 0),
            textcoords="offset points",
            va="center",
            ha="left" if value >= 0 else "right",
            fontsize=8,
        )
    axes.margins(x=0.2)
    return list(drawn)
