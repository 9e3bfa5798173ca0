"""The page as an anywidget: one component for Jupyter, VS Code and Colab.

Source: Manz et al. 2024, anywidget: reusable widgets for interactive analysis.
"""

from jumok.errors import MissingExtraError
from jumok.inspection.page.document import document, guided, payload
from jumok.inspection.page.source import source_folder
from jumok.inspection.trace import Trace

try:
    import anywidget
    import traitlets
except ModuleNotFoundError as error:
    raise MissingExtraError("the page as a widget", "notebook") from error

TRACE_MARK = "the trace goes here"


def _shell() -> list[str]:
    """The page without its trace: the parts before it and after it."""
    return document("page.js", {TRACE_MARK: 0}).split(f'{{"{TRACE_MARK}":0}}')


def _trace_payload(trace: Trace, _: object) -> dict[str, object]:
    return payload(trace) | {"token": None} | guided(trace)


class TraceWidget(anywidget.AnyWidget):
    """The page of a trace as a widget; assigning another trace redraws it."""

    _esm = (source_folder() / "widget.js").read_text(encoding="utf-8")
    trace = traitlets.Instance(Trace).tag(sync=True, to_json=_trace_payload)
    shell = traitlets.List(traitlets.Unicode()).tag(sync=True)

    @traitlets.default("shell")
    def _page(self) -> list[str]:
        return _shell()
