"""The widget's module in a real browser, with a notebook's model played by the test."""

import json

import pytest

import jumok
from jumok.inspection.page.tours import built_in, unmet
from jumok.tracing.catalog import load_family
from tests.browser.conftest import PATIENCE, open_view, views_of
from tests.inspection.traces import HOSTILE, trace
from tests.interop.bert import bert, save

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


def test_tours_and_games_run_in_a_cell(cell, tmp_path):
    """By keyboard; the tours are those of the trace that is shown: it may be of another model."""
    page, frame = cell(trace())
    frame.locator("#tours").click()
    offered = "all => all.map(({ id }) => id.slice(6)).filter((id) => !id.startsWith('game-'))"
    names = frame.locator("#tour-list button").evaluate_all(offered)
    # Those whose needs are met, but "attention is not use": no attributions were made.
    known = {tour.name for tour in built_in() if unmet(tour, trace()) is None}
    assert set(names) == known - {"attention-is-not-use"}
    frame.locator("#start-translating-head").focus()
    page.keyboard.press("Enter")
    for step, view in enumerate(("overview", "grid", "overview", "board", "row"), start=1):
        playwright.expect(frame.locator("#tour .tour-count")).to_have_text(f"{step} of 5")
        tab = frame.locator(f"#tab-{view}")
        playwright.expect(tab).to_have_attribute("aria-selected", "true")
        if step < 5:
            page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    playwright.expect(frame.locator("#tour")).to_be_hidden()
    frame.locator("#tours").click()
    frame.locator("#start-game-look").click()
    playwright.expect(frame.locator("#panel")).to_be_hidden()
    frame.locator(".options button").first.click()
    playwright.expect(frame.locator("#game-verdict")).to_contain_text("was written while attending")
    frame.locator("#game-end").click()
    # A BERT writes nothing, and has no tour; a translator has its tours again.
    alone = load_family(save(bert().bert, tmp_path / "bert"), device="cpu").trace("the cats sat")
    page.evaluate("(trace) => window.model.hand(trace)", state_of(alone))
    playwright.expect(frame.locator("dd").first).to_have_text("the cats sat")
    frame.locator("#tours").click()
    assert frame.locator("#tour-list button").evaluate_all(offered) == []
    page.evaluate("(trace) => window.model.hand(trace)", state_of(trace(source=("하나",))))
    playwright.expect(frame.locator("#start-translating-head")).to_be_visible()


def test_another_trace_keeps_every_view_that_it_has(cell, tiny_bundle):
    """Of a real model, whose layers are a view; a second trace has it, too."""
    translator = jumok.load(tiny_bundle, device="cpu")
    first, second = (jumok.trace(translator, text) for text in ("the cat sat", "a dog barked"))
    page, frame = cell(first)
    views = views_of(frame)
    assert "layers" in views
    page.evaluate("(trace) => window.model.hand(trace)", state_of(second))
    playwright.expect(frame.locator("dd").first).to_have_text("a dog barked")
    assert views_of(frame) == views
    page.evaluate("(trace) => window.model.hand(trace)", state_of(trace()))
    playwright.expect(frame.locator("dd").first).to_have_text("a cat ran")
    assert not {"layers", "compare", "mattered"} & set(views_of(frame))


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
