"""The widget's module in a real browser, with a notebook's model played by the test."""

import json

import pytest

import jumok
from tests.browser.conftest import PATIENCE, open_view
from tests.inspection.traces import HOSTILE, trace

playwright = pytest.importorskip("playwright.sync_api", reason="needs the package playwright")

pytest.importorskip("anywidget", reason="needs the extra notebook")

PLAY = """async ({ esm, state }) => {
  const url = URL.createObjectURL(new Blob([esm], { type: "text/javascript" }));
  const { default: widget } = await import(url);
  const listeners = new Set();
  window.model = {
    get: (name) => state[name],
    on: (name, listener) => name === "change:trace" && listeners.add(listener),
    off: (name, listener) => listeners.delete(listener),
    hand(trace) { state.trace = trace; listeners.forEach((listener) => listener()); },
    listeners,
  };
  window.leave = widget.render({ model: window.model, el: document.getElementById("cell") });
}"""


@pytest.fixture
def cell(browser, tmp_path):
    """Shows a trace in a cell of a plain page; gives the page around it, and the frame inside."""
    opened, faults = [], []

    def show(recorded):
        file = tmp_path / "notebook.html"
        file.write_text("<!doctype html><title>notebook</title><div id='cell'></div>", "utf-8")
        page = browser.new_context(locale="en-US").new_page()
        opened.append(page)
        page.set_default_timeout(PATIENCE)
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.goto(file.as_uri())
        state = jumok.page(recorded).widget().get_state()
        wanted = {"esm": state["_esm"], "state": {name: state[name] for name in ("trace", "shell")}}
        page.evaluate(PLAY, json.loads(json.dumps(wanted)))
        return page, page.frame_locator("#cell iframe")

    yield show
    for page in opened:
        page.context.close()
    assert faults == []


def state_of(recorded):
    return jumok.page(recorded).widget().get_state("trace")["trace"]


def test_a_cell_shows_the_page_in_a_frame(cell):
    page, frame = cell(trace())
    open_view(frame, "One row, step by step")
    assert frame.locator("#panel table").first.locator("tr").count() == 6, "4 keys, names, sum"
    assert page.title() == "notebook", "the page's title and address are its own"
    assert "#" not in page.url
    page.wait_for_function("document.querySelector('#cell iframe').style.height !== '760px'")


def test_another_trace_is_drawn_with_the_view_that_was_chosen(cell):
    page, frame = cell(trace())
    open_view(frame, "One row, step by step")
    page.evaluate("(trace) => window.model.hand(trace)", state_of(trace(source=("하나", "둘"))))
    playwright.expect(frame.locator("dd").first).to_have_text("하나 둘")
    assert frame.locator("#tab-row").get_attribute("aria-selected") == "true"
    playwright.expect(frame.locator("#panel table").first.locator("tr")).to_have_count(5)


def test_a_trace_that_comes_before_the_page_is_drawn_is_not_lost(cell):
    page, frame = cell(trace())
    page.evaluate("(trace) => window.model.hand(trace)", state_of(trace(source=("soon",))))
    playwright.expect(frame.locator("dd").first).to_have_text("soon")


def test_a_closed_cell_listens_no_more(cell):
    page, _ = cell(trace())
    page.evaluate("window.leave()")
    assert page.evaluate("window.model.listeners.size") == 0


def test_tokens_are_text_in_the_notebook_too(cell):
    page, frame = cell(trace(source=HOSTILE))
    assert frame.locator("dd").first.inner_text().startswith("</script><script>")
    page.evaluate("(trace) => window.model.hand(trace)", state_of(trace(source=HOSTILE[:2])))
    playwright.expect(frame.locator("dd").first).to_have_text(" ".join(HOSTILE[:2]))
    assert page.evaluate("window.ran") is None
    assert frame.locator("body").evaluate("() => window.ran ?? null") is None
