"""A trace as static HTML, for `nbconvert`, GitHub and mail, where scripts may not run.

A cell shows the input, the output, and one map as a table with its numbers.
"""

from html import escape

import numpy as np

from jumok.inspection.trace import Array, Axis, Site, Trace

MOST_TABLE_WORDS = 60
"""The most words of a side; a larger table would be unreadable."""

COLOUR = "62, 78, 192"


def still(trace: Trace) -> str:
    """The input, the output, and one attention map.

    The map is that of the alignment setting's layer, or of the last layer: the mean of its heads,
    in percent.
    """
    parts = [f"<p><b>{escape(trace.model)}</b><br>{escape(trace.text)}"]
    if trace.steps:
        parts.append(f"<br>→ {escape(trace.output)}")
    parts.append("</p>")
    if trace.picture is not None:
        parts.append(f'<img src="{escape(trace.picture.url)}" alt="{escape(trace.text)}">')
    site = _site(trace)
    if site is not None:
        parts.append(_map_table(trace, site))
    return f"<div>{''.join(parts)}</div>"


def _site(trace: Trace) -> Site | None:
    """The site of the alignment setting, or of the last layer; None: its keys are cells."""
    cross = [site for site in trace.sites if site.part == "cross"]
    sites = cross or list(trace.sites)
    setting = trace.findings.setting
    layer = setting.layer if cross and setting is not None else None
    chosen = [site for site in sites if site.layer == layer] or sites[-1:]
    if not chosen or trace.axes[chosen[0].keys].grid is not None:
        return None
    return chosen[0]


def _map_table(trace: Trace, site: Site) -> str:
    queries, keys = trace.axes[site.queries], trace.axes[site.keys]
    setting = trace.findings.setting
    head = setting.head if setting is not None and setting.layer == site.layer else None
    weights = site.mean if head is None else site.weights[head]
    writes = site.part in ("cross", "decoder") and not trace.findings.at_input
    if site.sink is not None:  # its share is one more column, of no word
        weights = np.concatenate((weights, 1 - weights.sum(axis=1, keepdims=True)), axis=1)
    values = _by_words(weights, queries, keys, shift=int(writes)).tolist()
    rows, columns = queries.texts[:MOST_TABLE_WORDS], keys.texts[:MOST_TABLE_WORDS]
    which = "the mean of all heads" if head is None else f"head {head + 1}"
    head_row = "".join(f"<th>{escape(text)}</th>" for text in (*columns, "rest"))
    body = "".join(
        f"<tr><th>{escape(row)}</th>{''.join(map(_td, (*line[: len(columns)], line[-1])))}</tr>"
        for row, line in zip(rows, values, strict=False)
    )
    title = f"{site.queries} at {site.keys}, layer {site.layer + 1}, {which}, in percent"
    return f"<table><caption>{title}</caption><tr><th></th>{head_row}</tr>{body}</table>"


def _td(value: float) -> str:
    ink = "#fff" if value > 0.5 else "#000"
    shade = f"background: rgba({COLOUR}, {value:.2f}); color: {ink}"
    return f'<td style="{shade}">{round(100 * value)}</td>'


def _by_words(weights: Array, queries: Axis, keys: Axis, shift: int) -> Array:
    """(words of the queries, words of the keys + 1): means of rows, sums of columns; last the rest.

    Args:
        shift: 1: a word's rows are those of the steps that write it, one before its own.
    """
    columns = np.zeros((weights.shape[1], len(keys.texts) + 1), dtype=weights.dtype)
    columns[len(keys.words) :, -1] = 1  # of a sink
    for place, word in enumerate(keys.words):
        columns[place, len(keys.texts) if word is None else word] = 1
    rows = np.zeros((len(queries.texts), weights.shape[0]), dtype=weights.dtype)
    for place, word in enumerate(queries.words):
        if word is not None and 0 <= place - shift < len(weights):
            rows[word, place - shift] = 1
    means: Array = rows / np.maximum(rows.sum(axis=1, keepdims=True), 1) @ weights @ columns
    return means
