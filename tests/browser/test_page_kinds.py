"""The page of every kind of model, each a real one: what is typed, clicked off, and added up."""

import re
import threading
from functools import partial

import pytest

from jumok.inspection.page.document import page as html
from jumok.serving.answers import answers
from jumok.serving.local import LocalServer
from jumok.serving.pictures import ServedPictures
from jumok.tracing.catalog import load_family
from jumok.tracing.comparison import Comparison
from tests.browser.conftest import PATIENCE, open_controls, open_view
from tests.browser.kinds import SHORT, VIEWS, traced

expect = pytest.importorskip("playwright.sync_api", reason="needs the package playwright").expect

MARKUP = (
    "<img src=x onerror=ran() a",
    "</script><script>ran(cat)</script>",
    "\u202e ㅎㅏ 👩\u200d👩",
)
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def named(sign: re.Match[str]) -> str:
    """A control sign as the page shows it."""
    code = ord(sign[0])
    return chr(0x2400 + code) if code < 32 else f"U+{code:04X}"


@pytest.mark.parametrize("kind", VIEWS)
def test_a_row_of_a_real_model_adds_up_on_the_page(opened, folders, kind):
    reader = opened(traced(folders, kind))
    open_view(reader.page, "row")
    open_controls(reader.page)
    parts = reader.page.get_by_label("Attention kind", exact=True)
    for part in parts.locator("option").all_inner_texts():
        parts.select_option(label=part)
        rows = [row for row in reader.table()[1:] if row[0] != "sum"]
        assert sum(float(row[3]) for row in rows) == pytest.approx(1.0, abs=1e-3)
        assert all(abs(float(row[5])) < 1e-5 for row in rows), "recomputed is what was recorded"


@pytest.mark.parametrize("kind", ["Transformer", "Bahdanau's RNN", "text classifier"])
@pytest.mark.parametrize("text", MARKUP)
def test_what_a_person_types_is_text(opened, folders, kind, text):
    """Run as a script it would be a fault of the page: there is no `ran` to call."""
    reader = opened(traced(folders, kind, text))
    for _ in reader.views():
        pass
    # What would turn the text around is named, and does nothing.
    assert reader.page.locator("dd").first.inner_text() == text.replace("\u202e", "U+202E")


@pytest.mark.parametrize("kind", ["Transformer", "Bahdanau's RNN", "masked model"])
def test_one_word_is_a_sentence(opened, folders, kind):
    reader = opened(traced(folders, kind, "cat"))
    for _ in reader.views():
        assert reader.page.locator("#panel .help").inner_text()


def test_where_nothing_came_out_nothing_is_shown(opened, folders):
    reader = opened(traced(folders, "BERT"))
    expect(reader.page.locator("dd").first).to_have_text("the cats sat")
    expect(reader.page.locator("dd").nth(1)).to_be_hidden()
    expect(reader.page.locator("dt").nth(1)).to_be_hidden()
    expect(opened(traced(folders, "masked model")).page.locator("dd").nth(1)).to_be_visible()


def test_a_link_to_a_head_that_is_not_there_shows_the_last(opened, folders):
    reader = opened(traced(folders, "Transformer"))
    reader.page.evaluate("location.hash = 'head=99&layer=99&part=nobody&at=99&query=99'")
    assert reader.page.get_by_label("Head", exact=True).input_value() == "2"
    for _ in reader.views():
        pass


@pytest.fixture
def served(browser, folders):
    """Opens the live page of a kind."""
    running = []

    def serve(kind: str) -> object:
        folder, given = folders[kind]
        family = load_family(folder, device="cpu")
        first = family.trace(given, options=SHORT)
        pictures = ServedPictures(given, lambda path: None) if family.reads == "picture" else None
        server = LocalServer(
            partial(html, first),
            answers(Comparison(partial(family.trace, options=SHORT)), pictures),
        )
        threading.Thread(target=server.serve_forever, daemon=True).start()
        page = browser.new_context(locale="en-US").new_page()
        page.set_default_timeout(PATIENCE)
        faults: list[str] = []
        page.on("pageerror", lambda error: faults.append(str(error)))
        running.append((server, page, faults))
        page.goto(f"{server.link}#view=board")
        return page

    yield serve
    for server, page, faults in running:
        page.context.close()
        server.shutdown()
        server.server_close()
        assert faults == []


@pytest.mark.parametrize(
    ("kind", "typed", "refused"),
    [
        ("language model", "b", "a" * 2000),
        ("masked model", "a ___ dog", "cat " * 2000),
        ("BERT", "the cat sat down", "cat " * 2000),
    ],
)
def test_what_is_typed_is_looked_at_anew(served, folders, kind, typed, refused):
    page = served(kind)
    page.locator("#text").fill(refused)
    expect(page.locator(".fault")).to_contain_text("the model reads at most")
    page.locator("#text").fill(typed)
    expect(page.locator(".fault")).to_be_empty()
    output = traced(folders, kind, typed).output
    expect(page.locator("dd").nth(1)).to_have_text(CONTROLS.sub(named, output))


def test_the_beginning_of_a_long_text_is_classified(served, folders):
    kind = "text classifier"
    page = served(kind)
    open_controls(page)
    page.get_by_label("Show as", exact=True).select_option(label="table")
    for typed, word in [("dog " * 2000, "dog"), ("the dog barked", "the")]:
        page.locator("#text").fill(typed)
        expect(page.locator("#panel thead th").nth(1)).to_have_text(word)
        expect(page.locator(".fault")).to_be_empty()
        expect(page.locator("dd").nth(1)).to_have_text(traced(folders, kind, typed).output)


@pytest.mark.parametrize("kind", ["language model", "CNN", "masked model"])
def test_heads_can_be_clicked_off_in_every_kind(served, folders, kind):
    page = served(kind)
    open_view(page, "heads")
    page.locator('.switches button[aria-pressed="true"]').first.click()
    expect(page.locator('.switches button[aria-pressed="false"]')).to_have_count(1)
    expect(page.locator("dd.changed")).to_have_count(1)
