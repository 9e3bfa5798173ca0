"""A page in a real browser, and a person in front of it: what the tests of the page share."""

import functools
import shutil
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

import jumok
from jumok.decoding import DecodingOptions
from jumok.inspection.page.document import page as html
from jumok.inspection.trace import Trace
from jumok.serving.answers import answers
from jumok.serving.local import LocalServer
from jumok.tracing.comparison import Comparison

HERE = Path(__file__).parent
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]


PATIENCE = 30_000
"""Milliseconds that anything on a page may take."""

RUNNING = ExitStack()
"""What ends the browser, and its driver."""


@functools.cache
def running() -> object:
    playwright = pytest.importorskip("playwright.sync_api", reason="needs the package playwright")
    if CHROMIUM is None:
        pytest.skip("needs the Debian package chromium")
    # Machines that run the tests are busy; a wait ends as soon as it is over.
    playwright.expect.set_options(timeout=PATIENCE)
    driver = RUNNING.enter_context(playwright.sync_playwright())
    browser = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
    RUNNING.callback(browser.close)
    return browser


@pytest.fixture(scope="module")
def browser() -> object:
    """One for all tests of this folder; every page of theirs has a profile of its own."""
    return running()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
    """Ends the browser after the last test here: while it runs, asyncio serves its driver alone."""
    yield
    if nextitem is None or HERE not in nextitem.path.parents:
        RUNNING.close()
        running.cache_clear()


def open_controls(page: object) -> None:
    """Opens the controls of the view, which are closed at first."""
    more = page.locator("#more")
    if more.count() and more.get_attribute("open") is None:  # pages of cards show them
        more.locator("> summary").click()


def open_view(page: object, wanted: str) -> None:
    """Opens the view with this name, or of this id."""
    for question in [None, *page.locator(".questions [role=tab]").all()]:
        if question is not None:
            question.click()
        tabs = page.locator(".views [role=tab]")
        for tab in tabs.all():
            of = tab.get_attribute("id").removeprefix("tab-")
            if wanted == of or tab.inner_text().startswith(wanted):
                tab.click()
                return
    raise AssertionError(f"there is no view {wanted!r}")


def views_of(page: object) -> list[str]:
    """The ids of all views, question by question; the first one is open in the end."""
    found = []
    for question in page.locator(".questions [role=tab]").all():
        question.click()
        tabs = page.locator(".views [role=tab]").all()
        found += [tab.get_attribute("id").removeprefix("tab-") for tab in tabs]
    open_view(page, found[0])
    return found


class Reader:
    """A page with a person in front of it; whatever goes wrong in it is kept."""

    def __init__(
        self, browser: object, file: Path, language: str = "en-US", view: str = ""
    ) -> None:
        context = browser.new_context(locale=language, viewport={"width": 1200, "height": 900})
        self.page = context.new_page()
        self.page.set_default_timeout(PATIENCE)
        self.faults: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.hear(message.type, message.text))
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(file.as_uri() + (f"#view={view}" if view else ""))
        self.page.locator("#page > *").first.wait_for(state="attached")  # it unpacks itself

    def hear(self, kind: str, text: str) -> None:
        if kind in ("error", "warning"):
            self.faults.append(text)

    def serious(self) -> list[tuple[str, str]]:
        """What axe-core finds that keeps somebody out; it runs from outside: no script gets in."""
        axe = pytest.importorskip("axe_playwright_python", reason="needs axe-playwright-python")
        self.page.evaluate((Path(axe.__file__).parent / "axe.min.js").read_text("utf-8"))
        found = self.page.evaluate("axe.run()")["violations"]
        worst = [each for each in found if each["impact"] in ("serious", "critical")]
        return [(each["id"], each["nodes"][0]["html"]) for each in worst]

    def tab(self, name: str) -> None:
        """Opens a view by its name: first the question that it answers, if another one is open."""
        open_view(self.page, name)

    def views(self) -> Iterator[str]:
        """The names of all views, as ids; each is open while its name is used."""
        for view in views_of(self.page):
            open_view(self.page, view)
            yield view

    def choose(self, label: str, option: str) -> None:
        open_controls(self.page)
        self.page.get_by_label(label, exact=True).select_option(label=option)

    def table(self) -> list[list[str]]:
        rows = self.page.locator("#panel table").first.locator("tr")
        rows.first.wait_for(state="attached")  # a table that opens is filled a moment later
        return [row.locator("th, td").all_inner_texts() for row in rows.all()]


@pytest.fixture
def reading(browser, tmp_path):
    """Opens saved pages; at the end none of them has had a fault, or asked for anything."""
    readers = []

    def open_saved(saved: str, language: str = "en-US", view: str = "") -> Reader:
        file = tmp_path / f"page{len(readers)}.html"
        file.write_text(saved, encoding="utf-8")
        readers.append(Reader(browser, file, language, view))
        return readers[-1]

    yield open_saved
    for reader in readers:
        reader.page.context.close()
        assert reader.faults == []
        assert len(reader.requests) == 1, "a saved page asks for nothing but itself"


@pytest.fixture
def opened(reading):
    def open_page(
        recorded: Trace,
        language: str = "en-US",
        other: Trace | None = None,
        view: str | None = None,
    ) -> Reader:
        """Opens the map of words, or of the image, if `view` names no other view."""
        if view is None:
            view = "scrubber" if recorded.picture is not None else "board"
        return reading(html(recorded, other=other), language, view)

    return open_page


@pytest.fixture
def live(browser, tiny_bundle):
    """The page of a real model, served on loopback as `jumok look` serves it."""

    def tracer():
        translator, options = (
            jumok.load(tiny_bundle, device="cpu"),
            DecodingOptions(maximum_length=5),
        )

        def traced(text, target=None, **asked):
            return jumok.trace(translator, text, target, options, **asked)

        return traced

    # One for the server's thread and one for the test's: a model is watched by one at a time.
    served, traced = tracer(), tracer()
    first = traced("the cat sat")
    server = LocalServer(lambda token: html(first, token), answers(Comparison(served)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    page = browser.new_context(locale="en-US").new_page()
    page.set_default_timeout(PATIENCE)
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.goto(f"{server.link}#view=board")
    yield page, traced
    page.context.close()
    server.shutdown()
    server.server_close()
    assert faults == []
