"""For everybody: axe-core finds nothing in any view of any kind, in both languages and both themes,
on a wide and a narrow screen; and every text that is drawn on a canvas can be read.

axe-core does not see canvases, so the contrast there is computed while the text is drawn: of its
colour with the colours that are under it.
"""

from pathlib import Path

import pytest

from jumok.data.files.run_log import RunLog
from jumok.inspection.page.document import page as html
from jumok.inspection.page.run_report import RunReport, UnseenExample
from tests.browser.conftest import PATIENCE, open_view, views_of, violations
from tests.browser.kinds import VIEWS, traced
from tests.inspection.test_run_report import check, step

LEAST = 4.5
"""WCAG 2.2, 1.4.3: the contrast of text of ordinary size."""

# Every two of width, theme and language meet in one of the four.
SCREENS = [(1280, "light", "en"), (1280, "dark", "ko"), (400, "dark", "en"), (400, "light", "ko")]

WATCH = (Path(__file__).parent / "contrast.js").read_text("utf-8")


def report() -> RunReport:
    log = RunLog("a", [step(number, 4.0) for number in (10, 20)], [check(20, 2.0, True, bleu=9.0)])
    return RunReport(log, {"look": "jumok look a/model"}, (UnseenExample("a", "b", "b"),))


@pytest.fixture
def shown(browser, folders, tmp_path):
    """Opens the saved page of a kind, with what is drawn on it watched from the outside."""
    contexts = []

    def show(kind: str) -> object:
        file = tmp_path / "page.html"
        file.write_text(html(traced(folders, kind), run=report()), encoding="utf-8")
        context = browser.new_context(locale="en-US", viewport={"width": 1280, "height": 800})
        context.add_init_script(WATCH)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        page.goto(file.as_uri())
        return page

    yield show
    for context in contexts:
        context.close()


def screens(page: object):
    """The page on each screen; it is the same page, which is faster than four."""
    for wide, theme, language in SCREENS:
        page.set_viewport_size({"width": wide, "height": 800})
        page.emulate_media(color_scheme=theme)
        if page.locator("html").get_attribute("lang") != language:
            page.locator("#language").click()
        yield f"{wide} {theme} {language}"


@pytest.mark.parametrize("kind", VIEWS)
def test_nothing_keeps_anybody_out(shown, kind):
    """One walk through all views on each screen, for both."""
    page = shown(kind)
    found, faint, count = [], [], 0
    for screen in screens(page):
        for view in views_of(page):
            open_view(page, view)
            drawn = page.evaluate("window.drawn.splice(0)")
            count += len(drawn)
            faint += [(screen, view, *each) for each in drawn if each[2] < LEAST]
            found += [(screen, view, *each) for each in violations(page)]
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), view
    assert found == []
    assert faint == []
    assert count > 100


def test_faint_text_is_found(shown):
    """The watch itself: grey on paper, and white on white, are told apart from ink."""
    page = shown("Transformer")
    told = page.evaluate("""() => {
      window.drawn = [];
      const context = document.createElement("canvas").getContext("2d");
      context.font = "13px sans-serif";
      for (const [y, fill] of [[20, "#1c1e26"], [60, "#9a9a9a"], [100, "#fdfdfb"]]) {
        context.fillStyle = fill;
        context.fillText("word", 10, y);
      }
      return window.drawn.map(([, , ratio]) => Math.round(10 * ratio) / 10);
    }""")
    assert told == [16.3, 2.8, 1.0]
