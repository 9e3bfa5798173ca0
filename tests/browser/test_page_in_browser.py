"""The saved page in a real browser: mouse, keyboard, both languages, hostile tokens, no network."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from jumok.inspection.hooks.intervene import Change
from tests.browser.conftest import open_controls, open_view, take
from tests.inspection.traces import HOSTILE, softmax, trace

playwright = pytest.importorskip("playwright.sync_api", reason="needs the package playwright")


def test_board_shows_the_weights_that_were_recorded(opened):
    recorded = trace()
    reader = opened(recorded)
    reader.choose("Show as", "table")
    reader.choose("Rows and columns", "tokens")
    reader.choose("Alignment step", "the step that reads the word")
    reader.choose("Head", "2")
    first = next(site for site in recorded.sites if site.name == "cross.0")
    header, *rows = reader.table()
    assert header[1:] == ["a", "cat", "ran", "</s>"]
    shown = np.array([[float(cell) for cell in row[1:]] for row in rows])
    np.testing.assert_allclose(shown, first.weights[1], atol=0.0005)


def test_words_at_the_writing_step_are_a_row_above(opened):
    """The step that reads token i writes token i + 1; START's row writes the first word."""
    recorded = trace()
    reader = opened(recorded)
    reader.choose("Show as", "table")
    first = next(site for site in recorded.sites if site.name == "cross.0").weights.mean(0)
    shown = np.array([[float(cell) for cell in row[1:]] for row in reader.table()[1:]])
    np.testing.assert_allclose(shown, first[:2], atol=0.0005)
    assert reader.table()[0][1:] == ["a", "cat", "ran", "rest (</s>)"]
    reader.choose("Alignment step", "the step that reads the word")
    shown = np.array([[float(cell) for cell in row[1:]] for row in reader.table()[1:]])
    np.testing.assert_allclose(shown, first[1:], atol=0.0005)


def test_one_word_on_either_side_is_shown_in_its_pieces(opened):
    """A word that is spelt: three letters to two syllables; by words there is one cell."""
    recorded = trace()
    axes = {
        name: replace(
            axis, words=tuple(None if word is None else 0 for word in axis.words), texts=("w",)
        )
        for name, axis in recorded.axes.items()
    }
    reader = opened(replace(recorded, axes=axes))
    reader.choose("Show as", "table")
    assert reader.table()[0][1:] == ["a", "cat", "ran", "</s>"]


def test_a_row_adds_up_when_redone_from_what_is_shown(opened):
    reader = opened(trace())
    reader.tab("One row, step by step")
    cells = [row for row in reader.table()[1:] if row[0] != "sum"]
    scores = np.array([float(row[2]) for row in cells])
    redone = np.exp(scores) / np.exp(scores).sum()
    np.testing.assert_allclose([float(row[3]) for row in cells], redone, atol=2e-4)
    assert all(abs(float(row[5])) < 1e-6 for row in cells), "recomputed is what was recorded"


def test_an_additive_row_adds_up_too(opened):
    """Its weights are the softmax of energy . tanh(q + k), made from the vectors here."""
    recorded = trace()
    sites = []
    for site in recorded.sites:
        if site.part != "cross":
            continue
        energy = np.linspace(-1, 1, site.query.shape[2], dtype=np.float32)
        weights = softmax(np.tanh(site.query[:, :, None] + site.key[:, None]) @ energy)
        sites.append(replace(site, kind="additive", scale=1.0, energy=energy, weights=weights))
    reader = opened(replace(recorded, sites=tuple(sites)))
    reader.tab("One row, step by step")
    assert reader.table()[0][1] == "v · tanh(q + k)"
    assert all(abs(float(row[5])) < 1e-6 for row in reader.table()[1:] if row[0] != "sum")


def test_the_mask_is_shown_where_it_hides(opened):
    reader = opened(trace())
    reader.tab("One row, step by step")
    reader.choose("Attention kind", "decoder self-attention (target → target)")
    reader.choose("Query", "0 reads <s> → writes 고양이가")
    assert [row[2] for row in reader.table()[1:]].count("masked") == 2


def test_a_small_map_leads_to_the_large_one(opened):
    reader = opened(trace())
    reader.tab("All heads")
    assert reader.page.locator(".grid button").count() == 6
    reader.page.locator(".grid button").nth(4).click()
    assert (
        reader.page.get_by_role("tab", name="Attention map").get_attribute("aria-selected")
        == "true"
    )
    assert "layer=1" in reader.page.url
    assert "head=1" in reader.page.url


def test_a_link_brings_the_moment_back(opened, browser):
    reader = opened(trace())
    reader.tab("One row, step by step")
    reader.choose("Query", "1 reads 고양이가 → writes 뛰었다")
    again = reader.page.context.new_page()
    reader.requests.clear()
    again.goto(reader.page.url)
    assert again.get_by_label("Query", exact=True).input_value() == "1"
    reader.requests.append("counted")


def test_keyboard_alone_is_enough(opened):
    reader = opened(trace())
    keyboard = reader.page.keyboard
    reader.page.locator("#question-where").focus()
    keyboard.press("ArrowRight")
    assert reader.page.locator("#question-why").get_attribute("aria-selected") == "true"
    keyboard.press("ArrowLeft")
    keyboard.press("Tab")
    keyboard.press("ArrowRight")
    assert reader.page.locator("#tab-board").get_attribute("aria-selected") == "true"
    reader.page.locator("#map").focus()
    keyboard.press("Control+Home")
    before = reader.page.locator(".said").inner_text()
    keyboard.press("ArrowDown")
    keyboard.press("ArrowRight")
    assert reader.page.locator(".said").inner_text() != before
    assert reader.page.locator(".said").inner_text().startswith("뛰었다 → cat: ")
    keyboard.press("Enter")
    assert reader.page.locator("#tab-row").get_attribute("aria-selected") == "true"


def test_korean_readers_get_korean(opened):
    reader = opened(trace(), "ko-KR")
    assert reader.page.locator("h1").inner_text().startswith("모델이 무엇에 주목했나")
    assert reader.page.locator("html").get_attribute("lang") == "ko"
    reader.page.get_by_role("button", name="English").click()
    assert reader.page.locator("h1").inner_text().startswith("What the model attended to")


def test_tokens_are_text_whatever_they_say(opened):
    reader = opened(trace(source=HOSTILE, target=HOSTILE))
    for name in (
        "Attention map",
        "One row, step by step",
        "All heads",
        "Head ablation",
        "Beam search tree",
        "Predictions",
    ):
        reader.tab(name)
    assert reader.page.evaluate("window.ran") is None
    assert reader.page.locator("dd").first.inner_text().startswith("</script><script>")


def test_the_picture_can_be_saved_as_it_is_seen(opened, tmp_path):
    reader = opened(trace(source=HOSTILE))
    with reader.page.expect_download() as found:
        take(reader.page, "save-svg")
    text = Path(found.value.path()).read_text(encoding="utf-8")
    assert text.startswith("<svg")
    assert "&#60;img src=x" in text
    with reader.page.expect_download() as found:
        take(reader.page, "save-png")
    assert Path(found.value.path()).read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("view", ["overview", "board", "row", "grid", "heads", "theatre", "beam"])
def test_page_is_accessible(opened, view):
    """axe-core finds nothing serious; it runs from the outside, as the page lets no script in."""
    reader = opened(trace())
    reader.page.evaluate(f"location.hash = 'view={view}'")
    assert reader.serious() == []


def test_what_is_typed_is_traced_anew(live):
    page, traced = live
    open_controls(page)
    page.get_by_label("Show as", exact=True).select_option(label="table")
    page.locator("#text").fill("고양이 두 마리")
    playwright.expect(page.locator("#panel thead th").nth(3)).to_have_text("마리")
    assert page.locator("#text").input_value() == "고양이 두 마리"
    playwright.expect(page.locator("dd").last).to_have_text(traced("고양이 두 마리").output)
    page.locator("#text").fill(" ")
    playwright.expect(page.locator(".fault")).to_contain_text("Enter a text")
    page.locator("#text").fill("두 마리")
    playwright.expect(page.locator(".fault")).to_be_empty()


def test_a_head_that_is_clicked_off_is_off(live):
    page, traced = live
    whole = traced("the cat sat")
    open_view(page, "Head ablation")
    site = "decoder.blocks.1.cross_attention"
    page.locator(f'[id="switch-{site}:2"]').click()
    off = traced("the cat sat", change=Change(off={site: [2]}))
    playwright.expect(page.locator("dd.changed")).to_have_text(off.output)
    forced = traced("the cat sat", whole.findings.written, change=Change(off={site: [2]}))
    rows = page.locator("#panel table").first.locator("tbody tr")
    last = rows.last.locator("td").last.inner_text()
    worth = sum(s.log_probability for s in forced.steps) - sum(
        s.log_probability for s in whole.steps
    )
    assert float(last) == pytest.approx(worth, abs=0.005)
    page.locator(f'[id="switch-{site}:2"]').click()
    playwright.expect(page.locator("dd.changed")).to_have_count(0)


def test_the_tree_shows_what_each_hypothesis_looked_at(opened):
    reader = opened(trace())
    reader.tab("Beam search tree")
    assert reader.page.locator(".tree button").count() == 3, "the one that lost is hidden"
    reader.choose("Pruned hypotheses", "shown")
    assert reader.page.locator(".tree button").count() == 4
    reader.page.locator("#node-2").focus()
    reader.page.keyboard.press("ArrowLeft")
    assert "node=0" in reader.page.url
    reader.page.keyboard.press("ArrowDown")
    assert "node=1" in reader.page.url
    reader.page.locator("#map").focus()
    reader.page.keyboard.press("Home")
    reader.page.keyboard.press("ArrowRight")
    assert reader.page.locator(".said").inner_text() == "<b> → cat: 0.200"


def test_what_heads_are_worth_is_asked_for_when_it_is_wanted(live):
    page, traced = live
    page.locator("#text").fill("the dog barked")
    output = traced("the dog barked").output
    playwright.expect(page.locator("dl dd").nth(1)).to_have_text(output)
    open_view(page, "Head ablation")
    playwright.expect(page.locator(".switches button")).to_have_count(21)  # 1 + 3 x 2 sites of 3


def test_the_tree_is_asked_for_when_it_is_wanted(live):
    page, traced = live
    page.locator("#text").fill("the dog barked")
    output = traced("the dog barked").output
    playwright.expect(page.locator("dl dd").nth(1)).to_have_text(output)
    open_view(page, "Beam search tree")
    playwright.expect(page.locator(".tree button").first).to_be_visible()


def test_a_search_goes_on_from_a_chosen_node(live):
    page, traced = live
    nodes = traced("the cat sat").findings.search.nodes
    other = next(i for i, n in enumerate(nodes) if n.parent == -1 and n.fate == "kept" and i)
    open_view(page, "Beam search tree")
    page.locator(f"#node-{other}").click()
    page.locator("#go-on").click()
    expected = traced("the cat sat", prefix=[nodes[other].token])
    assert expected.findings.written[0] == nodes[other].token
    playwright.expect(page.locator("dd").last).to_have_text(expected.output)
