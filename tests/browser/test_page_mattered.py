"""Who mattered?, and models that the reader changes: words blanked, rows of attention set."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import jumok
from jumok.inspection.hooks.intervene import Change, RowEdit
from jumok.inspection.trace import Trace
from jumok.tracing.catalog import load_family
from tests.browser.conftest import open_controls, open_view, take, views_of
from tests.inspection.traces import HOSTILE, found
from tests.systems.lm import write_lm

playwright = pytest.importorskip("playwright.sync_api", reason="needs the package playwright")

VIEW = "Attribution"
MEASURES = ["weights", "norms", "rollout", "flow", "product", "slope", "blank"]


@pytest.fixture(scope="module")
def recorded(tiny_bundle) -> Trace:
    translator = jumok.load(tiny_bundle, device="cpu")
    return jumok.trace(translator, "the cat sat", "개가 짖었다")


def tables(reader) -> list[list[list[str]]]:
    reader.tab(VIEW)
    reader.choose("Show as", "table")
    found = []
    for table in reader.page.locator("#panel table").all():
        rows = table.locator("tbody tr").all()
        found.append([row.locator("th, td").all_inner_texts() for row in rows])
    return found


def numbers(rows: list[list[str]]) -> np.ndarray:
    return np.array([[float(cell.rstrip(" %")) for cell in row[1:]] for row in rows])


@pytest.mark.parametrize(("unit", "row"), [("words", 1), ("tokens", 2)])
def test_tables_show_what_was_measured(opened, recorded, unit, row):
    reader = opened(recorded)
    reader.tab(VIEW)
    reader.choose("Rows and columns", unit)
    reader.page.locator(f"#written-{row}").click()
    bars, here, mean, shares = tables(reader)
    facts = recorded.findings.attribution["words" if unit == "words" else "pieces"]
    assert list(facts.measures) == MEASURES
    source = recorded.axes["source"]
    names = source.texts if unit == "words" else [t.lstrip("▁") or "·" for t in source.tokens]
    measured = np.array([facts.measures[name]["source"][row] for name in MEASURES]).T
    if unit == "words":  # what no word has is the last row: of attention all adds up to 1
        names = [*names, "rest (</s>)"]
        left = np.array([[facts.rest[name]["source"][row] for name in MEASURES]])
        measured = np.vstack([measured, left])
        assert measured[:, 0].sum() == pytest.approx(1, abs=1e-4)
    assert [each[0] for each in bars] == list(names)
    np.testing.assert_allclose(numbers(bars), measured, atol=6e-5)
    np.testing.assert_allclose(numbers(here), facts.ranks[row], atol=0.006)
    np.testing.assert_allclose(numbers(mean), facts.mean_ranks, atol=0.006)
    expected = 100 * np.array([facts.shares[name] for name in ("product", "slope", "blank")]).T
    np.testing.assert_allclose(numbers(shares), expected, atol=0.06)


def test_what_was_written_before_is_measured_too(opened, recorded):
    """Only what reaches it; and only the words that had been read by then."""
    reader = opened(recorded)
    reader.tab(VIEW)
    reader.page.locator("#written-1").click()
    reader.choose("Attribution to", "the prefix")
    bars = tables(reader)[0]
    assert [each[0] for each in bars] == [*recorded.axes["target"].texts, "rest (<s>)"]
    facts = recorded.findings.attribution["words"].measures
    bars = bars[:-1]
    names = ["rollout", "flow", "product", "slope", "blank"]
    measured = np.array([facts[name]["target"][1] for name in names]).T
    np.testing.assert_allclose(numbers(bars), measured, atol=6e-5)


def test_a_language_model_shows_what_it_had_read(opened, tmp_path):
    trace = load_family(write_lm(tmp_path / "lm")).trace("to", "be")
    reader = opened(trace)
    reader.tab(VIEW)
    reader.choose("Rows and columns", "tokens")
    reader.page.locator("#written-2").click()
    bars, *rest = tables(reader)
    assert len(rest) == 2, "nothing is shared with a source"
    facts = trace.findings.attribution["pieces"]
    assert len(bars) == 3, "START and two tokens"
    measured = np.array([facts.measures[name]["text"][2][:3] for name in MEASURES]).T
    np.testing.assert_allclose(numbers(bars), measured, atol=6e-5)
    assert reader.page.get_by_label("Attribution to", exact=True).count() == 0


def test_the_picture_says_the_shares_of_each_measure(opened, recorded):
    """Of the first word: the largest of each, by size, as a share of the sum of the sizes."""
    reader = opened(recorded)
    reader.tab(VIEW)
    said = reader.page.locator("#panel canvas").get_attribute("aria-label")
    facts = recorded.findings.attribution["words"].measures
    left = recorded.findings.attribution["words"].rest
    texts = (*recorded.axes["source"].texts, "rest (</s>)")
    for name, title in (("weights", "attention"), ("blank", "occlusion")):
        values = np.array([*facts[name]["source"][0], left[name]["source"][0]])
        best = int(np.abs(values).argmax())
        share = 100 * values[best] / np.abs(values).sum()
        shown = f"{'−' if share < 0 else ''}{abs(share):.0f} %"
        assert f"{title}: {texts[best]} {shown}" in said


def test_the_picture_is_saved_with_its_words(opened, recorded):
    hostile = HOSTILE[:3]
    axes = dict(recorded.axes) | {"source": replace(recorded.axes["source"], texts=hostile)}
    reader = opened(replace(recorded, axes=axes))
    reader.tab(VIEW)
    with reader.page.expect_download() as found:
        take(reader.page, "save-svg")
    text = Path(found.value.path()).read_text(encoding="utf-8")
    assert "&#60;img src=x" in text
    assert "gradient × input" in text
    assert 'fill="#b85300"' in text, "occlusion is an effect, and no attention"
    assert reader.page.evaluate("window.ran") is None


def test_no_correlation_is_cut(opened, recorded):
    facts = recorded.findings.attribution["words"]
    size = len(facts.measures)
    low = replace(facts, ranks=tuple(np.full((size, size), -0.4) for _ in facts.ranks))
    reader = opened(found(recorded, attribution={**recorded.findings.attribution, "words": low}))
    reader.tab(VIEW)
    with reader.page.expect_download() as saved:
        take(reader.page, "save-svg")
    text = Path(saved.value.path()).read_text(encoding="utf-8")
    assert text.count(">−0.4<") >= size * size
    assert "…" not in text


def test_keyboard_korean_and_a_link(opened, recorded):
    reader = opened(recorded, "ko-KR")
    reader.tab("기여도")
    reader.page.locator("#written-0").focus()
    reader.page.keyboard.press("Tab")
    reader.page.keyboard.press("Enter")
    assert "word=1" in reader.page.url
    assert reader.page.locator("#written-1").get_attribute("aria-pressed") == "true"
    assert reader.page.evaluate("document.activeElement.id") == "written-1"
    assert "가리기" in reader.page.locator("#panel canvas").get_attribute("aria-label")
    assert reader.page.locator("#blank-0").count() == 0, "a saved page cannot compute"


def test_page_is_accessible(opened, recorded):
    reader = opened(recorded)
    reader.tab(VIEW)
    assert reader.serious() == []


def test_a_page_without_measures_has_no_such_view(opened, recorded):
    reader = opened(found(recorded, attribution=None))
    views = views_of(reader.page)
    assert "mattered" not in views
    assert len(views) > 4


def changes(page) -> float:
    """The sum of what the old output's log-probabilities changed by, as the page shows it."""
    rows = page.locator("#panel table").first.locator("tbody tr")
    return float(rows.last.locator("td").last.inner_text())


def worth(changed: Trace, whole: Trace) -> float:
    after, before = (sum(s.log_probability for s in each.steps) for each in (changed, whole))
    return after - before


def test_a_word_that_is_clicked_out_is_blanked(live):
    page, traced = live
    whole = traced("the cat sat")
    open_view(page, VIEW)
    tokens = [i for i, word in enumerate(whole.axes["source"].words) if word == 1]
    page.locator("#blank-1").click()
    change = Change(blank=tuple(tokens))
    blanked = traced("the cat sat", change=change)
    playwright.expect(page.locator("dd.changed")).to_have_text(blanked.output)
    forced = traced("the cat sat", whole.findings.written, change=change)
    assert changes(page) == pytest.approx(worth(forced, whole), abs=0.005)
    assert page.locator("#blank-1").get_attribute("aria-pressed") == "false"
    assert page.locator("#panel canvas:not(#compared canvas)").count() == 1, (
        "what mattered is that of the whole model"
    )
    open_view(page, "Beam search tree")
    nodes = [node for node in blanked.findings.search.nodes if node.fate != "lost"]
    playwright.expect(page.locator(".tree button")).to_have_count(len(nodes))
    open_view(page, VIEW)
    page.locator("#undo").click()
    playwright.expect(page.locator("dd.changed")).to_have_count(0)


def test_what_mattered_is_asked_for_when_it_is_wanted(live):
    page, traced = live
    page.locator("#text").fill("the dog barked")
    output = traced("the dog barked").output
    playwright.expect(page.locator("dl dd").nth(1)).to_have_text(output)
    open_view(page, VIEW)
    playwright.expect(page.locator("#panel canvas")).to_have_count(1)


def test_a_row_that_is_set_changes_the_output(live):
    page, traced = live
    whole = traced("the cat sat")
    open_view(page, "One row, step by step")
    open_controls(page)
    page.get_by_label("Layer", exact=True).select_option(label="3")
    page.get_by_label("Head", exact=True).select_option(label="2")
    page.get_by_label("Query", exact=True).select_option(index=1)
    page.get_by_label("Key", exact=True).select_option(index=2)
    page.locator("#look-only").click()
    row = RowEdit("decoder.blocks.2.cross_attention", 1, (0.0, 0.0, 1.0), 1)
    other = traced("the cat sat", change=Change(rows=(row,)))
    playwright.expect(page.locator("dd.changed")).to_have_text(other.output)
    forced = traced("the cat sat", whole.findings.written, change=Change(rows=(row,)))
    assert changes(page) == pytest.approx(worth(forced, whole), abs=0.005)
    # The page recomputes the row from its vectors; what was recorded is the row that was set.
    cells = page.locator("#panel table").last.locator("tbody tr").nth(2).locator("td")
    computed, difference = float(cells.nth(2).inner_text()), float(cells.nth(4).inner_text())
    assert computed - difference == pytest.approx(1.0, abs=0.01)
    page.locator("#look-only-all").click()
    row = replace(row, head=None)
    forced = traced("the cat sat", whole.findings.written, change=Change(rows=(row,)))
    shown = page.locator("#panel table").first.locator("tbody td").last
    playwright.expect(shown).to_have_text(f"{worth(forced, whole):.3f}")
    page.locator("#undo").click()
    playwright.expect(page.locator("dd.changed")).to_have_count(0)


def test_a_key_that_the_mask_hides_cannot_be_chosen(live):
    page, _ = live
    open_view(page, "One row, step by step")
    open_controls(page)
    page.get_by_label("Attention kind", exact=True).select_option(
        label="decoder self-attention (target → target)"
    )
    page.get_by_label("Query", exact=True).select_option(index=0)
    page.get_by_label("Key", exact=True).select_option(index=1)
    playwright.expect(page.locator("#look-only")).to_be_disabled()


def test_attention_is_one_number_on_both_views(opened, recorded):
    """The map of the last layer, and the bars called attention, by words and with the rest."""
    reader = opened(recorded)
    reader.choose("Show as", "table")
    layers = reader.page.get_by_label("Layer", exact=True)
    layers.select_option(label=layers.locator("option").last.inner_text())
    reader.choose("Head", "mean of all")
    reader.choose("Alignment step", "the step that writes the word")
    mapped = numbers(reader.table()[1:])
    reader.tab(VIEW)
    for row, line in enumerate(mapped):
        reader.page.locator(f"#written-{row}").click()
        bars = numbers(tables(reader)[0])[:, 0]
        np.testing.assert_allclose(bars, line, atol=6e-4)
