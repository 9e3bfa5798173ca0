"""Two traces in one page, in a real browser: one cursor, and the difference where there is one."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.browser.conftest import open_controls, open_view, views_of
from tests.inspection.traces import HOSTILE, trace

playwright = pytest.importorskip("playwright.sync_api", reason="needs the package playwright")


def changed(recorded, model="other"):
    """The same words seen by another model: its heads in another order, and half as sure."""
    sites = tuple(
        replace(site, weights=(0.5 * site.weights[:, :, ::-1]).copy()) for site in recorded.sites
    )
    return replace(recorded, model=model, sites=sites)


def tables(reader):
    found = []
    for table in reader.page.locator("#panel table").all():
        rows = table.locator("tbody tr").all()
        cells = [[float(cell) for cell in row.locator("td").all_inner_texts()] for row in rows]
        found.append((table.locator("caption").inner_text(), np.array(cells)))
    return found


def test_the_difference_is_a_less_b(opened):
    recorded = trace()
    reader = opened(recorded, other=changed(recorded))
    reader.tab("A | B")
    reader.choose("Attention kind", "encoder self-attention (source → source)")
    reader.choose("Rows and columns", "tokens")
    reader.choose("Head", "2")
    reader.choose("Show as", "table")
    (a, mine), (b, theirs), (title, difference) = tables(reader)
    first = next(site for site in recorded.sites if site.name == "encoder.1").weights[1]
    np.testing.assert_allclose(mine, first, atol=6e-4)
    np.testing.assert_allclose(theirs, 0.5 * first[:, ::-1], atol=6e-4)
    np.testing.assert_allclose(difference, first - 0.5 * first[:, ::-1], atol=6e-4)
    assert (a[:2], b[:2], title) == ("A:", "B:", "A − B")


def test_one_cursor_moves_over_all_maps(opened):
    recorded = trace()
    reader = opened(recorded, other=changed(recorded))
    reader.tab("A | B")
    reader.page.locator("#map-1").focus()
    for key in ("Control+Home", "ArrowDown", "ArrowRight"):
        reader.page.keyboard.press(key)
    said = reader.page.locator("#panel .said").all_inner_texts()
    assert [each.split(":")[0] for each in said] == 3 * ["뛰었다 → cat"]
    a, b, difference = (float(each.split(": ")[1]) for each in said)
    assert difference == pytest.approx(a - b, abs=0.0011)


@pytest.mark.parametrize(
    ("names", "why"),
    [
        ({"source": ("the", "dog", "sat")}, "no column in common"),
        ({"target": ("개가", "짖었다")}, "no row in common"),
        ({"source": ("b",), "target": ("c",)}, "neither a row nor a column in common"),
    ],
)
def test_where_no_token_is_the_same_there_is_no_difference_and_it_says_why(opened, names, why):
    reader = opened(trace(), other=trace(**names))
    reader.tab("A | B")
    assert reader.page.locator("#panel canvas[id^=map]").count() == 2
    assert why in reader.page.locator("#panel > .muted").inner_text()


def test_two_sentences_are_compared_where_they_are_the_same(opened):
    """One word is another one: the difference is over all the others."""
    recorded, other = trace(), trace(source=("a", "tall", "dog", "ran"), target=("뛰었다",))
    reader = opened(recorded, other=other)
    reader.tab("A | B")
    reader.choose("Attention kind", "cross-attention (target → source)")
    reader.choose("Show as", "table")
    (_, a), (_, b), (_, difference) = tables(reader)
    heads = reader.page.locator("#panel table").last.locator("thead th").all_inner_texts()
    assert heads[1:] == ["a", "ran", "rest"]
    np.testing.assert_allclose(difference, [a[1, [0, 2, 3]] - b[0, [0, 3, 4]]], atol=2e-3)
    assert "only one of the two has" in reader.page.locator("#panel > .muted").inner_text()


def test_the_cursor_follows_where_rows_and_columns_are_the_same(opened):
    reader = opened(trace(), other=trace(target=("개가", "뛰었다")))
    reader.tab("A | B")
    reader.page.locator("#panel canvas").first.focus()
    for key in ("Control+Home", "ArrowDown", "ArrowRight"):
        reader.page.keyboard.press(key)
    said = reader.page.locator("#panel .said")
    assert [each.split(":")[0] for each in said.all_inner_texts()] == 3 * ["뛰었다 → cat"]
    for key in ("ArrowUp", "ArrowRight"):
        reader.page.keyboard.press(key)
    rows = [each.split(":")[0] for each in said.all_inner_texts()]
    assert rows == ["고양이가 → ran", "뛰었다 → ran", "뛰었다 → ran"]


def test_a_model_that_has_no_such_attention_is_no_counterpart(opened):
    recorded = trace()
    cross = tuple(site for site in recorded.sites if site.part == "cross")
    reader = opened(recorded, other=replace(recorded, sites=cross))
    reader.tab("A | B")
    reader.choose("Attention kind", "encoder self-attention (source → source)")
    assert "B has no attention of this kind" in reader.page.locator("#panel").inner_text()


def test_a_page_of_one_trace_has_no_such_view(opened):
    assert "compare" not in views_of(opened(trace()).page)


def test_a_link_brings_the_comparison_back(opened):
    reader = opened(trace(), other=changed(trace()))
    reader.tab("A | B")
    reader.choose("Layer", "1")
    reader.choose("Head", "3")
    before = reader.page.locator("#panel .said").all_inner_texts()
    reader.page.reload()
    reader.requests.pop()
    assert reader.page.locator("#panel .said").all_inner_texts() == before


@pytest.mark.parametrize("language", ["en-US", "ko-KR"])
def test_the_comparison_is_for_everybody(opened, language):
    recorded = trace(source=HOSTILE)
    reader = opened(recorded, language, changed(recorded, model=HOSTILE[0]))
    reader.tab("A | B")
    assert reader.serious() == []
    assert reader.page.evaluate("window.ran") is None
    assert "undefined" not in reader.page.locator("main").inner_text()
    for kind, begins in (("svg", b"<svg"), ("png", b"\x89PNG")):
        with reader.page.expect_download() as found:
            reader.page.locator(f"#save-{kind}").click()
        data = Path(found.value.path()).read_bytes()
        assert data.startswith(begins)
    with reader.page.expect_download() as found:
        reader.page.locator("#save-svg").click()
    assert Path(found.value.path()).read_text("utf-8").count("<g transform") == 3


def test_a_second_sentence_is_traced_when_it_is_typed(live):
    page, traced = live
    open_view(page, "A | B")
    open_controls(page)
    page.get_by_label("Second sentence").fill("the cat barked")
    page.keyboard.press("Enter")
    playwright.expect(page.locator("#panel figcaption")).to_have_count(2)
    output = traced("the cat barked").output
    playwright.expect(page.locator("#panel figcaption").last).to_contain_text(output)
