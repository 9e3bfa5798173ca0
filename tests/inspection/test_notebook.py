"""A page that shows itself in notebooks, as a widget or in a frame, and is saved as a file."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import jumok
from jumok.errors import ConfigError, DataError
from jumok.inspection.page import notebook
from jumok.inspection.page.document import document, guided, payload
from jumok.inspection.page.document import page as html_of
from jumok.inspection.page.notebook import still
from tests.inspection.traces import HOSTILE, trace

WIDGET = "application/vnd.jupyter.widget-view+json"


def test_page_is_saved_as_it_is_shown(tmp_path: Path):
    page = jumok.page(trace())
    page.save(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text("utf-8") == page.html == str(page) == html_of(trace())


def test_pages_that_cannot_be_saved_are_refused(tmp_path: Path):
    with pytest.raises(ConfigError, match=r"expected: FILE\.html"):
        jumok.page(trace()).save("page.pdf")
    with pytest.raises(DataError, match="the output cannot be written"):
        jumok.page(trace()).save(tmp_path / "nowhere" / "page.html")


@pytest.mark.parametrize("shown", [trace(source=HOSTILE), jumok.page(trace(source=HOSTILE))])
def test_without_anywidget_a_notebook_shows_a_frame(monkeypatch, shown):
    monkeypatch.setattr(notebook, "find_spec", lambda _: None)
    bundle = shown._repr_mimebundle_()
    assert list(bundle) == ["text/html"]
    text = bundle["text/html"]
    assert text.startswith("<iframe")
    assert text.count("<") == 2  # the frame's own two: all else is inside srcdoc, escaped
    assert 'sandbox="allow-scripts allow-downloads"' in text


@pytest.fixture
def widgets():
    pytest.importorskip("anywidget", reason="needs the extra notebook")


def test_widget_holds_what_the_page_reads(widgets):
    recorded = trace(source=HOSTILE)
    state = jumok.page(recorded).widget().get_state()
    assert state["trace"] == payload(recorded) | {"token": None} | guided(recorded)
    assert {each["name"] for each in state["trace"]["tours"]} >= {"translating-head", "switch-off"}
    before, after = state["shell"]
    packed = json.dumps(state["trace"], ensure_ascii=False, separators=(",", ":"))
    whole = before + packed.replace("<", "\\u003c") + after
    assert whole == document("page.js", state["trace"]), (
        "the frame holds the page, with the digests of its script"
    )
    assert "export default" in state["_esm"]


def test_another_trace_is_sent_to_the_widget(widgets):
    page = jumok.page(trace())
    widget = page.widget()
    sent = []
    widget.observe(lambda change: sent.append(change["new"].text), "trace")
    page.trace = trace(source=("another",))
    assert sent == ["another"]
    assert widget.get_state("trace")["trace"]["text"] == page.trace.text == "another"
    assert page.widget() is widget


@pytest.mark.parametrize("shown", [trace(), jumok.page(trace())])
def test_a_notebook_shows_the_widget(widgets, shown):
    assert WIDGET in shown._repr_mimebundle_(include=None, exclude=None)


def test_a_viewer_that_runs_nothing_sees_a_table(widgets):
    """nbconvert and GitHub show text/html where they know no widgets, and let no script in."""
    recorded = trace(source=HOSTILE)
    text = jumok.page(recorded)._repr_mimebundle_()["text/html"]
    assert "<script" not in text
    assert "onerror" not in re.sub(r"&\w+;.*?&gt;", "", text)
    site = next(site for site in recorded.sites if site.name == "cross.0")
    weights = 100 * site.weights.mean(axis=0)[:2]
    cells = re.findall(r'<td style="[^"]+">(\d+)</td>', text)
    np.testing.assert_allclose(np.array(cells, dtype=float).reshape(2, 6), weights, atol=0.51)
    assert "</th><th>rest</th>" in text


def test_a_still_of_pieces_is_by_words():
    recorded = trace(source=("the", "c", "at"))
    source = replace(recorded.axes["source"], words=(0, 1, 1, None), texts=("the", "cat"))
    text = still(replace(recorded, axes={**recorded.axes, "source": source}))
    weights = next(site for site in recorded.sites if site.name == "cross.0").weights.mean(axis=0)
    first = re.findall(r">(\d+)</td>", text)[:3]
    expected = 100 * np.array([weights[0, 0], weights[0, 1:3].sum(), weights[0, 3]])
    np.testing.assert_allclose(np.array(first, dtype=float), expected, atol=0.51)
