"""The live page shows the whole answer, and the segment that is chosen."""

import pytest

expect = pytest.importorskip("playwright.sync_api", reason="needs the package playwright").expect

TWO = "The cat sat. A dog barked."


def test_a_segment_is_chosen(live):
    page, traced = live
    output = page.locator("header dd").last
    buttons = page.locator("#segments button")
    expect(buttons).to_have_count(0)
    page.fill("#text", TWO)
    expect(buttons).to_have_count(2)
    second = traced(TWO, segment=1)
    buttons.last.click()
    expect(buttons.last).to_have_attribute("aria-pressed", "true")
    expect(output).to_have_text(second.output)
    assert "segment=1" in page.url
    page.fill("#text", "100")
    expect(page.locator("#segments")).to_be_hidden()
    expect(buttons).to_have_count(0)
    expect(page.get_by_text("There is no word in this text")).to_be_visible()
