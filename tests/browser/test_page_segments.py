"""The live page shows the whole answer, the segment that is chosen, and what is copied."""

import pytest

expect = pytest.importorskip("playwright.sync_api", reason="needs the package playwright").expect

TWO = "The cat sat. A dog barked."


def test_a_segment_is_chosen_and_a_copied_text_says_so(live):
    page, traced = live
    output = page.locator("header dd").last
    buttons = page.locator("#segments button")
    expect(buttons).to_have_count(0)
    page.fill("#text", TWO)
    expect(buttons).to_have_count(2)
    expect(page.locator("#panel")).to_contain_text("sat.")
    second = traced(TWO, segment=1)
    buttons.last.click()
    expect(buttons.last).to_have_attribute("aria-pressed", "true")
    expect(page.locator("#panel")).to_contain_text("barked.")
    expect(page.locator("#panel")).not_to_contain_text("sat.")
    expect(output).to_have_text(second.output)
    assert "segment=1" in page.url
    page.fill("#text", "2024-01-15")
    expect(page.locator("body")).to_contain_text("There is no word in this text")
    expect(output).to_have_text("2024-01-15")
    expect(buttons).to_have_count(0)
    page.fill("#text", TWO)
    expect(buttons.first).to_have_attribute("aria-pressed", "true")
    expect(page.locator("#panel")).to_contain_text("sat.")
