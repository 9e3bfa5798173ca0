"""`make docs`: no warning, no dead link, no request to elsewhere, and a search in two languages."""

import json
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote

import pytest

import jumok
from jumok.engine.wasm import missing_compiler
from tests.browser.conftest import FIND, axe

ROOT = Path(__file__).parents[2]
PAGES = ("index", "start", "look", "commands", "lectures", "benchmarks")

EXPORTED = r".*translator\.html: [\d.]+ MB$|compared: nothing$"
"""What `jumok export` says of the page."""

pytest.importorskip("furo", reason="needs the group dev of pyproject.toml")


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Says nothing."""


@pytest.fixture(scope="module")
def site(tmp_path_factory, tiny_bundle) -> Path:
    """With a translator in it, where the engine for pages can be compiled."""
    folder = tmp_path_factory.mktemp("site")
    demo = [] if missing_compiler() else ["--model", str(tiny_bundle)]
    done = subprocess.run(
        [sys.executable, str(ROOT / "docs/site/build.py"), str(folder), *demo],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    warned = [line for line in done.stderr.splitlines() if not re.match(EXPORTED, line)]
    assert (done.returncode, warned) == (0, [])
    return folder


@pytest.fixture(scope="module")
def address(site) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


class Links(HTMLParser):
    """What a page refers to, and the places in it that can be referred to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.ids: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.ids.add(found.get("id") or "")
        target = found.get("href") or found.get("src")
        if target and found.get("rel") not in ("prev", "next"):
            self.targets.append(target)


def dead(site: Path) -> list[str]:
    pages = {file: Links(file.read_text("utf-8")) for file in site.rglob("*.html")}
    found = []
    for file, page in pages.items():
        for target in page.targets:
            if re.match(r"[a-z]+:", target) or target == "#":
                continue
            path, _, anchor = unquote(target).partition("#")
            there = (file.parent / path.partition("?")[0]).resolve() if path else file
            state = "=" in anchor  # of the translator, which is no place in the page
            known = pages[there].ids if there in pages and anchor and not state else {anchor}
            if not there.exists() or anchor not in known:
                found.append(f"{file.relative_to(site)}: {target}")
    return found


def test_no_link_is_dead(site):
    assert len(list(site.rglob("*.html"))) > 50
    assert dead(site) == []


def test_a_dead_link_is_found(tmp_path):
    (tmp_path / "a.html").write_text('<a href="b.html#x"><a href="c.html"><a href="b.html#y">')
    (tmp_path / "b.html").write_text('<p id="x">')
    assert dead(tmp_path) == ["a.html: c.html", "a.html: b.html#y"]


def test_both_languages_have_the_same_pages(site):
    english, korean = (
        {file.relative_to(site / each).as_posix() for file in (site / each).rglob("*.html")}
        for each in ("en", "ko")
    )
    # The tables of all benchmarks are in English; the Korean page has the sum of them.
    assert {page for page in english ^ korean if not page.startswith("benchmarks/")} == set()


@pytest.mark.parametrize("language", ["en", "ko"])
def test_every_page_is_two_clicks_from_the_index(site, language):
    folder = site / language
    reached = {folder / "index.html"}
    for _ in range(2):
        reached |= {
            (page.parent / unquote(target).partition("#")[0]).resolve()
            for page in reached
            if page.suffix == ".html" and page.is_file()
            for target in Links(page.read_text("utf-8")).targets
        }
    assert {*folder.rglob("*.html")} <= reached


def test_korean_pages_lead_to_no_english_page_but_their_own(site):
    """The switch of languages leads to the same page; the tables of benchmarks are in English."""
    found = []
    for file in (site / "ko").rglob("*.html"):
        own = file.relative_to(site / "ko")
        for target in Links(file.read_text("utf-8")).targets:
            place, _, query = target.partition("#")[0].partition("?")
            there = (file.parent / unquote(place)).resolve()
            if there.is_relative_to(site / "en"):
                other = there.relative_to(site / "en")
                if other != own and other.parts[0] != "benchmarks" and not query:
                    found.append(f"{own}: {target}")
    assert found == []


def test_the_commands_are_described_in_both_languages(site):
    english, korean = ((site / each / "commands.html").read_text("utf-8") for each in ("en", "ko"))
    assert "Folder of all runs" in english
    assert "모든 실행의 폴더" in korean
    assert "Folder of all runs" not in korean
    assert "jumok train --source a.en --target a.ko" in re.sub("<[^>]+>", "", korean)


@pytest.mark.skipif(missing_compiler() is not None, reason="needs zig")
@pytest.mark.parametrize("language", ["en", "ko"])
def test_a_visitor_tries_the_translator_of_the_site(page, address, language):
    page.set_viewport_size({"width": 1280, "height": 800})
    page.goto(f"{address}/{language}/index.html")
    page.locator('article a[href="translator.html"]').click()
    frame = page.frame_locator("iframe.demo")
    frame.locator("#text").fill("the cat sat")
    frame.get_by_text("sat", exact=True).first.wait_for(timeout=60_000)
    assert frame.locator("html").get_attribute("lang") == language
    size = page.locator("iframe.demo").bounding_box()
    assert size["width"] > 600
    assert size["height"] > 400


def test_the_reference_has_every_public_name(site):
    page = (site / "en/api.html").read_text("utf-8")
    packages = {"plot"}  # a section of the page
    missing = {name for name in jumok.__all__ if f'id="jumok.{name}"' not in page}
    assert missing == packages
    assert "Raises" in page


@pytest.fixture
def page(browser) -> Iterator[object]:
    context = browser.new_context(viewport={"width": 360, "height": 740})
    yield context.new_page()
    context.close()


@pytest.mark.parametrize("language", ["en", "ko"])
def test_pages_ask_nobody_fit_a_phone_and_are_accessible(page, address, language):
    asked, complaints = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    for name in PAGES:
        page.goto(f"{address}/{language}/{name}.html")
        width = page.evaluate("document.documentElement.scrollWidth")
        assert width <= 360, (name, width)
        page.evaluate(axe())
        assert page.evaluate(FIND) == [], name
    assert complaints == []
    assert [url for url in asked if not url.startswith((address, "data:"))] == []


@pytest.mark.parametrize(
    ("query", "language", "found"),
    [
        ("어텐션", "ko", "look.html"),
        ("어텐션은", "ko", "look.html"),
        ("잔차", "ko", "glossary.html"),
        ("attention", "en", "look.html"),
        ("softmax", "en", "glossary.html"),
    ],
)
def test_the_search_finds_words_with_and_without_particles(page, address, query, language, found):
    page.goto(f"{address}/{language}/search.html?q={query}")
    page.locator(f"ul.search li a[href^='{found}']").first.wait_for()


def test_a_noun_is_found_where_only_a_particle_follows_it(site):
    """어텐션은, 가중치가 and the like are stored by their nouns."""
    index = (site / "ko/searchindex.js").read_text("utf-8")
    terms = set(json.loads(index.removeprefix("Search.setIndex(").removesuffix(")"))["terms"])
    assert {"어텐션", "가중치", "잔차", "번역기"} <= terms
    assert not {"어텐션은", "가중치가", "번역기를"} & terms


def test_the_language_switch_leads_to_the_same_page(page, address):
    page.set_viewport_size({"width": 1200, "height": 800})
    page.goto(f"{address}/en/look.html")
    page.get_by_role("link", name="한국어").first.click()
    assert page.url == f"{address}/ko/look.html"
    page.get_by_role("link", name="English").first.click()
    assert page.url == f"{address}/en/look.html"
