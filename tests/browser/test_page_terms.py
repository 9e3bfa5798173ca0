"""The words of the page: one glossary, tooltips that everyone reaches, and questions as tabs."""

import re
from pathlib import Path

import pytest

from tests.browser.conftest import open_controls, views_of
from tests.inspection.traces import trace

expect = pytest.importorskip("playwright.sync_api", reason="needs the package playwright").expect

ROOT = Path(__file__).parents[2]
ENTRY = re.compile(
    r'^  (\w+): \{\n    en: \["([^"]+)", "([^"]+)".*\n    ko: \["([^"]+)", "([^"]+)"', re.MULTILINE
)


def entries() -> dict[str, tuple[str, str, str, str]]:
    """By id the term, its sentence, 용어, and its sentence."""
    text = (ROOT / "web" / "glossary.js").read_text("utf-8")
    found = {each[0]: each[1:] for each in ENTRY.findall(text)}
    assert len(found) == text.count("    en: [")
    return found


def documented(page: str) -> dict[str, tuple[str, str]]:
    """By term 용어 and its sentence, in a page of the documents."""
    lines = (ROOT / "docs" / page).read_text("utf-8").splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {row[0]: (row[1], row[2]) for row in rows if len(row) == 3}


def test_the_page_has_the_words_of_the_glossary():
    english, hangul = documented("glossary.md"), documented("glossary.ko.md")
    for term, sentence, korean, meaning in entries().values():
        assert english[term] == (korean, sentence)
        assert hangul[term] == (korean, meaning)


@pytest.mark.parametrize("language", ["en-US", "ko-KR"])
def test_a_term_is_explained_by_pointer_and_by_keyboard(opened, language):
    reader = opened(trace(), language, view="row")
    page, tooltip = reader.page, reader.page.locator(".tooltip")
    sentence = entries()["query"][1 if language == "en-US" else 3]
    term = page.locator('.help .term[data-term="query"]')
    term.hover()
    expect(tooltip).to_have_text(sentence)
    page.locator("h1").hover()
    expect(tooltip).to_be_hidden()
    term.focus()
    expect(tooltip).to_be_visible()
    described = term.get_attribute("aria-describedby")
    assert page.locator(f"#{described}").text_content() == sentence, "what a screen reader says"
    page.keyboard.press("Escape")
    expect(tooltip).to_be_hidden()
    heading = page.locator('th .term[data-term="softmax"]')
    heading.focus()
    expect(tooltip).to_have_text(entries()["softmax"][1 if language == "en-US" else 3])


def test_labels_of_controls_are_explained(opened):
    reader = opened(trace())
    open_controls(reader.page)
    asked = reader.page.locator(".controls .ask")
    terms = {each.get_attribute("data-term") for each in asked.all()}
    assert {"cross", "layer", "head", "setting", "token", "norm"} <= terms
    reader.page.get_by_role("button", name="What is head?").click()
    expect(reader.page.locator(".tooltip")).to_have_text(entries()["head"][1])


def test_a_term_is_not_found_inside_other_words(opened):
    reader = opened(trace(), view="overview")
    about = reader.page.locator(".help")
    assert "arrow keys" in about.inner_text()
    assert about.locator(".term").count() == 0


def test_views_stand_below_the_questions_that_they_answer(opened):
    reader = opened(trace(), view="overview")
    page = reader.page
    questions = page.locator(".questions [role=tab]").all_inner_texts()
    assert questions == [
        "What did it attend to?",
        "How is it computed?",
        "Does it matter?",
        "What else might it have said?",
    ]
    views = ["overview", "board", "grid", "flow", "row", "walk", "heads", "beam", "theatre"]
    assert views_of(page) == views
    described = page.locator(".views [role=tab]").evaluate_all(
        "tabs => tabs.map((tab) => tab.title)"
    )
    assert described == [
        "The attention of one word or cell at a glance",
        "The attention weights as a matrix: rows are queries, columns are keys",
        "The attention maps of all layers and heads",
    ]
    page.locator("#question-matters").click()
    panel = page.locator("#panel")
    assert panel.get_attribute("aria-labelledby") == "tab-heads"
    page.go_back()
    page.locator('#question-where[aria-selected="true"]').wait_for()
