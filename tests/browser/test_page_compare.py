"""Two traces in one page, in a real browser: one cursor, and the difference where there is one."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jumok.inspection.findings import TraceFindings
from jumok.inspection.page.source import source_folder
from jumok.inspection.trace import Axis, Site
from tests.browser.comparing import difference, distance, edits, names, tables, whole_map
from tests.browser.conftest import open_controls, open_view, take, views_of
from tests.inspection.traces import HOSTILE, softmax, trace

playwright = pytest.importorskip("playwright.sync_api", reason="needs the package playwright")
expect = playwright.expect


def named(recorded, name):
    return next(site for site in recorded.sites if site.name == name)


def changed(recorded, model="other"):
    """The same words seen by another model: its heads in another order, and half as sure."""
    sites = tuple(
        replace(site, weights=(0.5 * site.weights[:, :, ::-1]).copy()) for site in recorded.sites
    )
    return replace(recorded, model=model, sites=sites)


def test_the_difference_is_the_second_less_the_first(opened):
    recorded = trace()
    reader = opened(recorded, other=changed(recorded))
    reader.tab("A | B")
    reader.choose("Attention kind", "encoder self-attention (source → source)")
    reader.choose("Rows and columns", "tokens")
    reader.choose("Head", "2")
    reader.choose("Show as", "table")
    (_, _, mine), (_, _, theirs), (_, _, less) = tables(reader.page)
    first = next(site for site in recorded.sites if site.name == "encoder.1").weights[1]
    np.testing.assert_allclose(mine, first, atol=6e-4)
    np.testing.assert_allclose(theirs, 0.5 * first[:, ::-1], atol=6e-4)
    np.testing.assert_allclose(less, 0.5 * first[:, ::-1] - first, atol=6e-4)
    titles = reader.page.locator("#panel .scroll > table:visible caption").all_inner_texts()
    assert [each.split(":")[0] for each in titles] == ["A", "B", "B − A"]


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
    assert difference == pytest.approx(b - a, abs=0.0011)


WORDS = st.lists(st.sampled_from(["a", "b", "c", "d"]), min_size=1, max_size=7).map(tuple)
PAIRS = [
    (("a", "cat", "ran"), ("a", "dog", "ran")),
    (("a", "cat", "ran"), ("ran",)),
    (("a", "b", "c"), ("d", "e", "f")),
    (("a", "b", "c"), ("b", "c", "a", "d")),
    (("the", "cat", "sat", "down"), ("the", "old", "cat", "slept", "there", "too")),
]


@pytest.fixture(scope="module")
def align(browser):
    """The page's own alignment, run by itself."""
    page = browser.new_page()
    source = (source_folder() / "compare" / "align.js").read_text("utf-8")
    page.add_script_tag(content=source.replace("export function", "function"))

    def aligned(one, other):
        return [tuple(pair) for pair in page.evaluate("([a, b]) => aligned(a, b)", [one, other])]

    yield aligned
    page.close()


@settings(max_examples=150, deadline=None)
@given(one=WORDS, other=WORDS)
def test_words_are_aligned_with_the_fewest_edits(align, one, other):
    pairs = align(one, other)
    assert edits(one, other, pairs) == distance(one, other)
    assert [i for i, _ in pairs if i is not None] == list(range(len(one)))
    assert [j for _, j in pairs if j is not None] == list(range(len(other)))


def test_of_as_few_edits_the_most_equal_words_are_kept(align):
    """Two substitutions would also be two edits, and say less."""
    assert align(("a", "b"), ("b", "c")) == [(0, None), (1, 0), (None, 1)]


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_two_sentences_have_their_words_at_the_same_places(opened, align, one, other):
    """Every number of the three maps, with gaps where a sentence lacks the word."""
    recorded, second = trace(source=one), trace(source=other, target=("개가", "뛰었다", "또"))
    reader = opened(recorded, other=second, view="compare")
    reader.choose("Attention kind", "cross-attention (target → source)")
    reader.choose("Layer", "1")
    reader.choose("Head", "3")
    reader.choose("Show as", "table")
    sides = [(each, named(each, "cross.0")) for each in (recorded, second)]
    maps = [whole_map(each, site, 2, reads=False) for each, site in sides]
    rows = align(*(each.axes["target"].texts for each, _ in sides))
    columns = [*align(one, other), (len(one), len(other))]
    headings = [*names(one, other, columns[:-1]), "rest"]
    (_, _, mine), (_, _, theirs), *rest = tables(reader.page)
    same = sum(None not in (a, b) and one[a] == other[b] for a, b in align(one, other))
    total = max(len(one), len(other))
    assert len(rest) == (2 * same >= total)
    for names_of, _, less in rest:
        assert names_of == headings
        np.testing.assert_allclose(less, difference(*maps, rows, columns), atol=6e-4)
    if not rest:  # two unrelated sentences
        nothing = f"The two share {same} of {total} words read: there is nothing to subtract."
        assert nothing in reader.page.locator(".compare-says").all_inner_texts()
        assert not reader.page.locator(".compare-says", has_text="largest change").count()
    for shown, own, side in ((mine, maps[0], 0), (theirs, maps[1], 1)):
        for r, row in enumerate(rows):
            for c, column in enumerate(columns):
                gap = row[side] is None or column[side] is None
                assert np.isnan(shown[r, c]) == gap
                assert gap or shown[r, c] == pytest.approx(own[row[side], column[side]], abs=6e-4)


def test_insertions_deletions_and_substitutions_are_in_the_lines(opened):
    recorded = trace(source=("the", "cat", "sat", "down"))
    other = trace(source=("the", "old", "cat", "slept"), target=("뛰었다",))
    reader = opened(recorded, other=other, view="compare")
    read, written = reader.page.locator("#panel .pairs").all()
    shown = [
        (
            pair.get_attribute("class").split()[1],
            tuple(pair.locator("span, del, ins").all_inner_texts()),
        )
        for pair in read.locator(".pair:not(.names)").all()
    ]
    assert shown == [
        ("same", ("the", "the")),
        ("added", ("+old",)),
        ("same", ("cat", "cat")),
        ("swapped", ("sat", "slept")),
        ("removed", ("−down",)),
    ]
    assert written.locator("del").all_inner_texts() == ["−고양이가"]
    assert (
        "A wrote “고양이가 뛰었다”, and B “뛰었다”." in reader.page.locator("#panel").inner_text()
    )
    # A word above its own: both have one left edge.
    for pair in read.locator(".pair.same, .pair.swapped").all():
        above, below = (each.bounding_box()["x"] for each in pair.locator("> *").all())
        assert above == below


def test_the_sentence_says_the_largest_change(opened):
    recorded = trace()
    reader = opened(recorded, other=changed(recorded), view="compare")
    reader.choose("Attention kind", "encoder self-attention (source → source)")
    reader.choose("Head", "1")
    one, other = (
        whole_map(each, named(each, "encoder.1"), 0, reads=False)
        for each in (recorded, changed(recorded))
    )
    less = other - one
    row, column = np.unravel_index(np.abs(less).argmax(), less.shape)
    words = [*recorded.axes["source"].texts, "rest"]
    wanted = (
        f"“{words[row]}” → “{words[column]}”: {100 * one[row, column]:.1f} % in A, "
        f"{100 * other[row, column]:.1f} % in B, {100 * abs(less[row, column]):.1f} points "
        f"{'more' if less[row, column] > 0 else 'less'}."
    )
    assert wanted in reader.page.locator(".compare-says").nth(1).inner_text()


def test_the_strip_says_how_much_each_head_changed(opened):
    recorded, other = trace(), changed(trace())
    reader = opened(recorded, other=other, view="compare")
    means = {}
    for site, like in zip(recorded.sites, other.sites, strict=True):
        for head in range(len(site.weights)):
            less = whole_map(other, like, head, False) - whole_map(recorded, site, head, False)
            means[f"apart-{site.name}-{head}"] = 100 * np.abs(less).mean()
    expect(reader.page.locator(".apart-strip button")).to_have_count(len(means))
    shown = {
        button.get_attribute("id"): float(button.locator("small").inner_text())
        for button in reader.page.locator(".apart-strip button").all()
    }
    assert shown == pytest.approx(means, abs=0.051)
    assert list(shown.values()) == sorted(shown.values(), reverse=True)
    best = max(means, key=means.get)
    part, layer, head = best.removeprefix("apart-").replace("-", ".").split(".")
    says = reader.page.locator("#apart-says").inner_text()
    assert f"Of {len(means)} heads" in says
    assert f"Layer {int(layer) + 1}, head {int(head) + 1};" in says
    assert f"by {max(means.values()):.1f} points" in says
    assert f"by {min(means.values()):.1f}." in says
    reader.page.locator(f"[id='{best}']").click()
    assert reader.page.locator(f"[id='{best}']").get_attribute("aria-pressed") == "true"
    assert reader.page.get_by_label("Head", exact=True).input_value() == head
    assert part in reader.page.get_by_label("Attention kind", exact=True).input_value()


def test_the_heads_are_reached_by_keyboard_in_either_order(opened):
    reader = opened(trace(), other=changed(trace()), view="compare")
    buttons = reader.page.locator(".apart-strip button")
    expect(buttons.first).to_be_visible()
    assert buttons.evaluate_all("all => all.filter((each) => each.tabIndex === 0).length") == 1
    reader.page.locator(".apart-strip [tabindex='0']").focus()
    reader.page.keyboard.press("Home")
    reader.page.keyboard.press("ArrowRight")
    second = buttons.nth(1).get_attribute("id")
    assert reader.page.evaluate("document.activeElement.id") == second
    reader.page.keyboard.press("Enter")
    assert reader.page.evaluate("document.activeElement.id") == second
    reader.page.locator("#apart-order").click()
    ids = [button.get_attribute("id") for button in buttons.all()]
    assert ids[0] == "apart-cross.0-0"
    assert reader.page.evaluate("document.activeElement.id") == "apart-order"
    reader.page.keyboard.press("Enter")
    assert [button.get_attribute("id") for button in buttons.all()] != ids


def test_the_same_trace_twice_has_no_difference(opened):
    reader = opened(trace(), other=trace(), view="compare")
    said = reader.page.locator(".compare-says").all_inner_texts()
    assert "No weight in this map changed by as much as 0.05 points." in said
    assert "No head's weights changed by as much as 0.05 points on average." in said
    assert reader.page.locator(".pairs").count() == 0, "the lines are the same"


def test_a_model_that_has_no_such_attention_is_no_counterpart(opened):
    recorded = trace()
    cross = tuple(site for site in recorded.sites if site.part == "cross")
    reader = opened(recorded, other=replace(recorded, sites=cross))
    reader.tab("A | B")
    reader.choose("Attention kind", "encoder self-attention (source → source)")
    assert "“B” has no attention of this kind" in reader.page.locator("#panel").inner_text()


def cells(rows, columns):
    """What the cells of an image attend to, those of a model that divides it into so many."""
    recorded = trace()
    names = tuple(f"{row + 1},{column + 1}" for row, column in np.ndindex(rows, columns))
    image = Axis(names, tuple(range(len(names))), names, (rows, columns))
    weights = softmax(np.random.default_rng(7).normal(size=(1, len(names), len(names))))
    site = Site("image.0", "scaled-dot", "image", 0, "source", "source", weights)
    findings = TraceFindings(written=())
    axes = recorded.axes | {"source": image}
    return replace(recorded, axes=axes, sites=(site,), steps=(), findings=findings)


def test_models_with_cells_of_another_size_are_compared_by_the_cells_names(opened):
    reader = opened(cells(2, 2), other=cells(2, 3), view="compare")
    said = " ".join(reader.page.locator("#panel .compare-says").all_inner_texts())
    assert re.search(r"The largest change in this map is “\d,\d” → “\d,\d”: ", said)


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
    reader.page.locator("#panel .said").first.wait_for()  # the page unpacks itself
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
            take(reader.page, f"save-{kind}")
        data = Path(found.value.path()).read_bytes()
        assert data.startswith(begins)
    with reader.page.expect_download() as found:
        take(reader.page, "save-svg")
    assert Path(found.value.path()).read_text("utf-8").count("<g transform") == 3


def test_a_second_sentence_is_traced_when_it_is_typed(live):
    page, traced = live
    open_view(page, "A | B")
    open_controls(page)
    page.get_by_label("Second sentence").fill("the cat barked")
    page.keyboard.press("Enter")
    playwright.expect(page.locator("#panel figcaption")).to_have_count(3)
    output = traced("the cat barked").output
    playwright.expect(page.locator("#panel figcaption").last).to_contain_text(output)
