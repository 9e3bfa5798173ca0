"""What a reader sees first holds still, and says nothing that is not so."""

import pytest

from jumok.inspection.page.document import page as html
from tests.inspection.traces import trace

expect = pytest.importorskip("playwright.sync_api", reason="needs the package playwright").expect

PLACES = "(words) => words.map((word) => word.getBoundingClientRect().left)"


def test_an_unchanged_model_is_not_called_changed_on_a_phone(reading):
    reader = reading(html(trace()))
    reader.page.set_viewport_size({"width": 400, "height": 800})
    expect(reader.page.locator("h1 small.changes")).to_be_attached()
    expect(reader.page.locator("h1 small.changes")).not_to_be_visible()


def test_words_stay_where_they_are_when_one_is_pointed_at(reading):
    page = reading(html(trace())).page
    words = page.locator(".rows .word")
    before = words.evaluate_all(PLACES)
    for word in words.all():
        word.hover()
        assert words.evaluate_all(PLACES) == before


def test_of_every_other_word_only_the_strongest_band_is_drawn(reading):
    """Of even weights a hundred bands would be seen."""
    page = reading(html(trace())).page
    page.locator(".bands path.on").first.wait_for(state="attached")
    others = page.locator(".rows .word").count() - 1
    assert others
    assert page.locator(".bands path.off").count() <= others


def test_values_that_are_no_shares_are_not_called_shares(opened, traces):
    page = opened(traces("Transformer"), view="mattered").page
    page.evaluate("location.hash += '&as=table'")
    page.locator("#panel table").first.wait_for()
    captions = page.locator("#panel table caption").all_inner_texts()
    assert sum("in its own unit" in each for each in captions) == 1
    assert not any("shares of each measure in %" in each for each in captions)
