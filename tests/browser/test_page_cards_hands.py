"""The pages of head cards on every screen: by keyboard at 200 %, by finger on a phone."""

import re
from pathlib import Path

import pytest

from jumok.inspection.page.cards_page import cards_page
from tests.browser.conftest import PATIENCE
from tests.browser.test_page_cards import CARDS
from tests.browser.test_page_cards_grid import CAPTIONER, PIXELS
from tests.browser.test_page_everybody import LEAST, WATCH

expect = pytest.importorskip("playwright.sync_api", reason="needs the package playwright").expect

PAGES = {
    "words": lambda: cards_page({"run/model": CARDS}, "dev.en + dev.de", 1200),
    "several": lambda: cards_page({"run/1/model": CARDS, "run/2/model": CARDS}, "dev.en", 9),
    "captions": lambda: cards_page({"scenes": CAPTIONER}, "captions.tsv", 60, "pictures"),
    "cells": lambda: cards_page({"digits": PIXELS}, "labels.tsv", 60, "pictures"),
}
SCREENS = [(640, 400, "dark", "en"), (1280, 800, "light", "en"), (400, 800, "light", "ko")]
BROKEN = re.compile(r"undefined|NaN|\[object|\bnull\b")


@pytest.mark.parametrize("name", PAGES)
def test_cards_are_for_everybody(browser, tmp_path, name):
    axe = pytest.importorskip("axe_playwright_python", reason="needs axe-playwright-python")
    file = tmp_path / "cards.html"
    file.write_text(PAGES[name](), encoding="utf-8")
    context = browser.new_context(locale="en-US", has_touch=True, device_scale_factor=2)
    context.add_init_script(WATCH)
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.goto(file.as_uri())
    page.locator("#panel").wait_for()
    page.evaluate((Path(axe.__file__).parent / "axe.min.js").read_text("utf-8"))
    for wide, high, theme, language in SCREENS:
        page.set_viewport_size({"width": wide, "height": high})
        page.emulate_media(color_scheme=theme)
        if page.locator("html").get_attribute("lang") != language:
            page.locator("#language").tap()
        card = page.locator(".cards > button").last
        if wide == 400:
            card.tap()
        else:
            card.focus()
            page.keyboard.press("Enter")
            expect(card).to_be_focused()
        expect(card).to_have_attribute("aria-expanded", "true")
        expect(page.locator(".definition")).to_be_visible()
        drawn = page.evaluate("window.drawn.splice(0)")
        assert [(wide, *each) for each in drawn if each[2] < LEAST] == []
        assert len(drawn) > 5
        assert not BROKEN.search(page.locator("main").inner_text())
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        found = page.evaluate("axe.run({ resultTypes: ['violations'] })")["violations"]
        assert [(wide, each["id"], each["nodes"][0]["html"]) for each in found] == []
        page.evaluate("window.drawn = []")
        card.press("Enter")
        expect(page.locator(".definition")).to_have_count(0)
    text = page.locator("#panel .help").first.inner_text()
    assert re.search("[가-힣]", text)
    context.close()
    assert faults == []
