"""The page of a trace in Jupyter, VS Code and Colab, and as a file.

    page = jumok.page(trace)      # at the end of a cell it is displayed
    page.trace = another          # every displayed copy is redrawn
    page.save("page.html")

With the extra "notebook" it is a widget (anywidget). Without the extra it is a frame with the same
page, which does not update when it is given another trace.
"""

from collections.abc import Container
from html import escape
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from jumok.data.files.atomic import atomic_file
from jumok.errors import ConfigError
from jumok.inspection.page.document import page as html_of
from jumok.inspection.page.packing import opened_site
from jumok.inspection.trace import Array, Axis, Site, Trace

if TYPE_CHECKING:
    from jumok.inspection.page.widget import TraceWidget

FRAME = 'width="100%" height="760" style="border:0" sandbox="allow-scripts allow-downloads"'


MOST_TABLE_WORDS = 60
"""The most words of a side; a larger table would be unreadable."""

TABLE_COLOUR = "62, 78, 192"


class Page:
    """The interactive page of a trace: a notebook displays it, and it can be saved.

    Attributes:
        html: the text of the page as one HTML file, which needs no network.
    """

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._widget: TraceWidget | None = None

    @property
    def trace(self) -> Trace:
        """The trace on the page; setting it redraws the page in the current view."""
        return self._trace

    @trace.setter
    def trace(self, trace: Trace) -> None:
        self._trace = trace
        if self._widget is not None:
            self._widget.trace = trace

    @property
    def html(self) -> str:
        return html_of(self._trace)

    def __str__(self) -> str:
        return self.html

    def save(self, file: Path | str) -> None:
        """Writes the page as a file.

        Raises:
            ConfigError: another kind of file. DataError: the file cannot be written.
        """
        path = Path(file)
        if path.suffix != ".html":
            raise ConfigError("a page is saved as HTML.", expected="FILE.html", got=str(file))
        with atomic_file(path) as part:
            part.write_text(self.html, encoding="utf-8")

    def widget(self) -> "TraceWidget":
        """The page as an ipywidget, for layouts with other widgets; the same object at every call.

        Raises:
            MissingExtraError: anywidget is not installed.
        """
        if self._widget is None:
            from jumok.inspection.page.widget import TraceWidget

            self._widget = TraceWidget(trace=self._trace)
        return self._widget

    def _repr_mimebundle_(
        self,
        include: Container[str] | None = None,  # noqa: ARG002 (IPython's own call)
        exclude: Container[str] | None = None,  # noqa: ARG002
    ) -> dict[str, object]:
        """The widget if anywidget is installed, otherwise a frame with the page in it.

        The widget comes with a static version for viewers without scripts (nbconvert, GitHub).
        """
        if find_spec("anywidget") is None:
            return {"text/html": f'<iframe {FRAME} srcdoc="{escape(self.html)}"></iframe>'}
        shown = self.widget()._repr_mimebundle_()
        # Some releases of anywidget return (data, metadata), others only the data.
        bundle = shown[0] if isinstance(shown, tuple) else shown
        return (bundle or {}) | {"text/html": still(self._trace)}


def page(trace: Trace) -> Page:
    """The interactive page of a trace, for a notebook, or to save with `.save("page.html")`."""
    return Page(trace)


def still(trace: Trace) -> str:
    """The page as HTML without scripts, for `nbconvert`, GitHub and mail.

    It shows the input, the output, and the map that the page opens with, unless its keys are cells
    of an image: the mean of the heads, in percent.
    """
    parts = [f"<p><b>{escape(trace.model)}</b><br>{escape(trace.text)}"]
    if trace.steps:
        parts.append(f"<br>→ {escape(trace.output)}")
    parts.append("</p>")
    if trace.picture is not None:
        parts.append(f'<img src="{escape(trace.picture.url)}" alt="{escape(trace.text)}">')
    if trace.sites and trace.axes[(site := opened_site(trace)).keys].grid is None:
        parts.append(_map_table(trace, site))
    return f"<div>{''.join(parts)}</div>"


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
    shade = f"background: rgba({TABLE_COLOUR}, {value:.2f}); color: {ink}"
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
