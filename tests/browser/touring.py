"""What the tests of tours and games share: a trace of every kind of model, each made once."""

from collections.abc import Callable
from pathlib import Path

from jumok.inspection.trace import Trace
from jumok.tracing.catalog import load_family
from jumok.tracing.request import Analyses
from tests.browser.test_page_kinds import SHORT, bundles

TraceOf = Callable[[str], Trace]


def traces_of(folder: Path, tiny_bundle: Path) -> TraceOf:
    folders = bundles(folder, tiny_bundle)
    known: dict[str, Trace] = {}

    def trace_of(kind: str) -> Trace:
        if kind not in known:
            model, usual = folders[kind]
            family = load_family(model, device="cpu")
            known[kind] = family.trace(usual, options=SHORT, extras=Analyses())
        return known[kind]

    return trace_of
