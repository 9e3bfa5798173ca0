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
import torch

import jumok
from jumok.engine.wasm import missing_compiler
from jumok_lectures.course.exercises import chapter_03, chapter_09, chapter_15
from tests.browser.conftest import FIND, axe

ROOT = Path(__file__).parents[2]
FIGURES = {
    "03": "course/03-weighted-sum",
    "05": "course/05-why-the-root",
    "09": "course/09-heads",
    "15": "course/15-an-explanation",
}
"""The chapters that have a figure that moves on the site."""
PAGES = ("index", "start", "look", "commands", "lectures", "benchmarks", *FIGURES.values())

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
    assert "Folder in which each run gets a subfolder" in english
    assert "실행마다 하위 폴더가 생기는 폴더" in korean
    assert "Folder in which each run gets a subfolder" not in korean
    assert "jumok train --source a.en --target a.ko" in re.sub("<[^>]+>", "", korean)


@pytest.mark.skipif(missing_compiler() is not None, reason="needs zig")
@pytest.mark.parametrize("language", ["en", "ko"])
def test_a_visitor_tries_the_translator_of_the_site(page, address, language):
    page.set_viewport_size({"width": 1280, "height": 800})
    page.goto(f"{address}/{language}/index.html")
    page.locator('article a[href="translator.html"]').click()
    frame = page.frame_locator("iframe.demo")
    frame.locator("#text").fill("the cat sat")
    frame.locator("#panel .word", has_text="sat").first.wait_for(timeout=60_000)
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


def test_what_the_code_of_a_chapter_prints_is_below_it(site):
    block = re.compile(r'<div class="output .*?<pre>(.*?)</pre>', re.DOTALL)
    for language in ("en", "ko"):
        page = (site / language / "course/00-attention-in-twenty-minutes.html").read_text("utf-8")
        four_steps, one_call = block.findall(page)
        assert "112.,  96." in four_steps
        assert "0.8808, 0.1192" in four_steps
        assert "0.8808, 0.1192" in one_call


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


def numbers(page) -> list[float]:
    """The numbers in the drawing of a figure."""
    found = page.locator(".moving .number").all_text_contents()
    return [float(each.replace("−", "-")) for each in found]


def degrees(*angles: float) -> torch.Tensor:
    """Vectors of length 1."""
    angle = torch.tensor(angles).double().deg2rad()
    return torch.stack([angle.cos(), angle.sin()], dim=-1)


@pytest.fixture(params=["en", "ko"])
def chapter(request, page, address):
    """A function that opens a chapter with a figure that moves."""

    def opened(number: str):
        page.goto(f"{address}/{request.param}/{FIGURES[number]}.html")
        return page.locator(".moving input")

    return opened


def test_the_weights_of_wide_vectors_are_those_of_torch(page, chapter):
    width = chapter("05")
    scores = torch.tensor([-1.2, -0.6, 0, 0.6, 1.2]).double()
    for key, d_k in (("Home", 1), ("ArrowRight", 2), ("End", 1024), ("ArrowLeft", 512)):
        width.press(key)
        plain = (scores * d_k**0.5).requires_grad_()
        weights = plain.softmax(-1)
        wanted = [*weights.tolist(), *scores.softmax(-1).tolist()]
        assert numbers(page) == pytest.approx(wanted, abs=0.0051)
        weights.max().backward()
        words = page.locator(".moving p").inner_text()
        assert f"{float(plain.grad[-1]):.4f}" in words
        assert f"d_k = {d_k}" in words


def test_the_mixture_is_that_of_the_chapter(page, chapter):
    direction, length = chapter("03").all()
    direction.press("Home")
    for _ in range(30):
        direction.press("ArrowRight")  # by 5 degrees
    length.press("End")
    query, keys = 1.5 * degrees(150)[0], degrees(90, 210, 330)
    keys[1] *= 3
    weights = (keys @ query).softmax(-1)
    wanted = torch.cat([keys @ query, chapter_03.distances(query, keys), weights])
    assert numbers(page)[-9:] == pytest.approx(wanted.tolist(), abs=0.0051)
    mixed = chapter_03.weighted_sum(weights[None], 2 * degrees(90, 210, 330))[0]
    words = page.locator(".moving p").inner_text().replace("−", "-")
    [z] = re.findall(r"= \[(\S+), (\S+)\]", words)
    assert [float(each) for each in z] == pytest.approx(mixed.tolist(), abs=0.0051)
    assert re.findall(r"k([₁₂₃])", words) == ["₂", "₁"]  # the largest product, and the nearest key


def test_the_heads_are_cut_as_in_the_chapter(page, chapter):
    count, wrong = chapter("09").all()
    x = torch.arange(1, 17).reshape(2, 8)
    count.press("Home")
    for heads in (1, 2, 4, 8):
        assert numbers(page)[16:] == chapter_09.split_heads(x, heads).flatten().tolist()
        wrong.press("Space")
        assert numbers(page)[16:] == x.flatten().tolist()
        wrong.press("Space")
        count.press("ArrowRight")


def test_the_fall_without_a_word_is_that_of_the_chapter(page, chapter):
    boxes = chapter("15").all()
    falls = chapter_15.occlusion(chapter_15.WEIGHTS, chapter_15.VALUES).tolist()
    score = float(chapter_15.WEIGHTS @ chapter_15.VALUES)
    for box, fall in zip(boxes, falls, strict=True):
        box.press("Space")
        words = page.locator(".moving p").inner_text()
        said = [float(each) for each in re.findall(r"\d\.\d{3}", words)]
        assert said == pytest.approx([score - fall, abs(fall)], abs=6e-4)
        assert any(each in words for each in (("falls", "내려") if fall > 0 else ("rises", "올라")))
        assert len(numbers(page)) == 6
        box.press("Space")
    for box in boxes:
        box.press("Space")
    assert numbers(page) == []


@pytest.mark.parametrize("number", FIGURES)
def test_a_figure_that_moves_follows_the_still_one_with_a_caption_of_its_own(page, chapter, number):
    chapter(number)
    still, moving = page.locator(f'img[src$="/{number}.svg"]'), page.locator(".moving")
    assert (still.is_visible(), moving.is_visible()) == (True, True)
    caption = page.locator(f'p:has(> img[src$="/{number}.svg"]) + p:has(> em:only-child)')
    assert caption.is_visible()
    assert caption.evaluate("it => it.nextElementSibling.classList.contains('moving')")
    own = moving.locator("figcaption").inner_text()
    assert own.startswith(("Interactive figure: ", "직접 바꾸어 보는 그림: "))
    assert caption.inner_text() not in own


@pytest.mark.parametrize("number", FIGURES)
def test_the_still_figure_is_printed(page, chapter, number):
    chapter(number)
    still, moving = page.locator(f'img[src$="/{number}.svg"]'), page.locator(".moving")
    assert page.evaluate("document.getAnimations().length") == 0  # it moves by a hand alone
    page.emulate_media(media="print")
    assert (still.is_visible(), moving.is_visible()) == (True, False)


def test_the_still_figure_is_there_without_scripts(browser, address):
    with browser.new_context(java_script_enabled=False) as context:
        page = context.new_page()
        for number, name in FIGURES.items():
            page.goto(f"{address}/en/{name}.html")
            assert page.locator(f'img[src$="/{number}.svg"]').is_visible()
            assert page.locator(".moving").count() == 0


@pytest.mark.parametrize("number", FIGURES)
def test_a_figure_is_accessible_in_the_dark(page, chapter, number):
    page.emulate_media(color_scheme="dark")
    chapter(number)
    page.evaluate(axe())
    assert page.evaluate(FIND) == []
