"""A page in a real browser, and a person in front of it: what the tests of the page share."""

import functools
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

import jumok
from jumok.decoding import DecodingOptions
from jumok.inspection.page.document import page as html
from jumok.inspection.trace import Trace
from jumok.serving.answers import answers
from jumok.serving.local import LocalServer
from jumok.systems.in_page.page import PageModel
from jumok.tracing.comparison import Comparison
from tests.browser.bare import bare_page
from tests.browser.kinds import Folders, whole

HERE = Path(__file__).parent
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
# The first line: every page would bring two of a search field that nobody sees, and a process ahead
# of need, a fifth of the processor time. The others: what Playwright turns off; one list counts.
WITHOUT = (
    *("WebUIOmniboxPopup", "WebUIOmniboxAimPopup", "WebUIOmniboxFullPopup"),
    "SpareRendererForSitePerProcess",
    *("AvoidUnnecessaryBeforeUnloadCheckSync", "DestroyProfileOnBrowserClose", "PaintHolding"),
    *("HttpsUpgrades", "HttpsFirstBalancedModeAutoEnable", "ThirdPartyStoragePartitioning"),
    *("AvoidCorsURLLoaderRestartOnRedirect", "LensOverlay", "MediaRouter", "AimEnabled"),
    *("OptimizationHints", "NetworkTimeServiceQuerying", "PreconnectToSearch"),
)
FLAGS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    f"--disable-features={','.join(WITHOUT)}",
]


OPEN = (HERE / "tabs.js").read_text("utf-8")

FIND = """async () => {
  window.watching = false; // of contrast.js: axe-core draws letters of its own, to measure them
  const { violations } = await axe.run({ resultTypes: ["violations"] });
  window.watching = true;
  return violations.map(({ id, impact, nodes }) => [id, impact, nodes[0].html]);
}"""

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


def close_menu(page: object) -> None:
    """Closes the menu *Share*, which lies over the page, if it is open."""
    if page.locator("#share[open]").count():
        page.locator("#share-open").click()


def open_controls(page: object) -> None:
    """Opens the controls of the view, which are closed at first."""
    close_menu(page)
    more = page.locator("#more")
    if more.count() and more.get_attribute("open") is None:  # pages of cards show them
        more.locator("> summary").click()


def walked(page: object, wanted: str | None = None) -> list[str]:
    """What `tabs.js` gives, of a page or of a frame in one, once its tabs are there."""
    page.locator(".views [role=tab]").first.wait_for(state="attached")
    close_menu(page)
    return page.locator("html").evaluate(OPEN, wanted)


def take(page: object, what: str) -> None:
    """Clicks a button of the menu *Share*, by its id."""
    button = page.locator(f"#{what}")
    if not button.is_visible():
        page.locator("#share-open").click()
    button.click()


def open_view(page: object, wanted: str) -> None:
    """Opens the view with this name, or of this id; nothing may lie over a tab that is clicked.

    One message to the browser does it all. Real clicks: `click_view`.
    """
    assert wanted in walked(page, wanted), f"there is no view {wanted!r}"


def click_view(page: object, view: str) -> None:
    """Opens the view of this id as a mouse does it."""
    for question in [None, *page.locator(".questions [role=tab]").all()]:
        if question is not None:
            question.click()
        tab = page.locator(f"#tab-{view}")
        if tab.count():
            tab.click()
            return
    raise AssertionError(f"there is no view {view!r}")


def views_of(page: object) -> list[str]:
    """The ids of all views, question by question; the first one is open in the end."""
    found = walked(page)
    open_view(page, found[0])
    return found


def wait_until(page: object, script: str) -> None:
    """Waits until a script gives true.

    The page's policy forbids Playwright's own `wait_for_function` to look a second time.
    """
    end = time.monotonic() + PATIENCE / 1000
    while not page.evaluate(script):
        assert time.monotonic() < end, script
        page.wait_for_timeout(20)


@functools.cache
def axe() -> str:
    """The script of axe-core. It is run from outside, as a page lets no script in."""
    package = pytest.importorskip("axe_playwright_python", reason="needs axe-playwright-python")
    return (Path(package.__file__).parent / "axe.min.js").read_text("utf-8")


def violations(page: object) -> list[tuple[str, str, str]]:
    """What axe-core finds: the rule, how bad it is, and the first element.

    Only this leaves the browser: all that axe-core knows takes longer to send than to find.
    """
    if not page.evaluate("'axe' in window"):
        page.evaluate(axe())
    return [tuple(each) for each in page.evaluate(FIND)]


def serious(page: object) -> list[tuple[str, str]]:
    """What axe-core finds that keeps somebody out."""
    worst = ("serious", "critical")
    return [(rule, first) for rule, impact, first in violations(page) if impact in worst]


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
        return serious(self.page)

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


@pytest.fixture(scope="session")
def folders(tmp_path_factory, tiny_bundle) -> Folders:
    """A model of every kind."""
    return Folders(tmp_path_factory.mktemp("models"), tiny_bundle)


@pytest.fixture(scope="session")
def traces(folders) -> Callable[[str], Trace]:
    """The trace of a kind with all analyses."""
    return functools.partial(whole, folders)


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


@pytest.fixture
def asked(browser, tmp_path):
    """Opens a bare page offline; what it returns calls a function of that page."""
    from playwright.sync_api import expect

    context = browser.new_context(offline=True)

    def open_bare(given: PageModel | Path, **changes: object):
        page = context.new_page()
        file = tmp_path / "bare.html"
        page.goto(
            (given if isinstance(given, Path) else bare_page(given, file, **changes)).as_uri()
        )
        expect(page).to_have_title("ready", timeout=60_000)
        return lambda name, given: page.evaluate(f"(given) => window.{name}(given)", given)

    yield open_bare
    context.close()
