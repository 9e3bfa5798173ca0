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

from jumok.data.files.atomic import atomic_file
from jumok.errors import ConfigError
from jumok.inspection.page.document import page as html_of
from jumok.inspection.page.still import still
from jumok.inspection.trace import Trace

if TYPE_CHECKING:
    from jumok.inspection.page.widget import TraceWidget

FRAME = 'width="100%" height="760" style="border:0" sandbox="allow-scripts allow-downloads"'


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
    """The interactive page of a trace: shown by a notebook, or saved with `.save("page.html")`."""
    return Page(trace)
