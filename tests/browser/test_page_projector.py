"""Projector mode: large type and few controls, by one key or a button, and kept in the link."""

import pytest

from jumok.inspection.page.document import page as html
from tests.inspection.traces import trace

expect = pytest.importorskip("playwright.sync_api", reason="needs the package playwright").expect

HIDDEN = (".help", ".path", "#more", "#share-open")


@pytest.mark.parametrize(("language", "name"), [("en-US", "Projector"), ("ko-KR", "발표 화면")])
@pytest.mark.parametrize("wide", [1280, 400])
def test_one_button_makes_everything_larger(reading, language, name, wide):
    reader = reading(html(trace()), language, "overview")
    page = reader.page
    page.set_viewport_size({"width": wide, "height": 800})
    before = page.locator("#sentence").bounding_box()
    button = page.get_by_role("button", name=name, exact=True)
    tall = page.locator(".word").first.bounding_box()["height"]
    button.click()
    expect(button).to_have_attribute("aria-pressed", "true")
    assert page.locator(".word").first.bounding_box()["height"] > 1.1 * tall
    assert before is not None
    for control in HIDDEN:
        expect(page.locator(control).first).to_be_hidden()
    assert page.evaluate("document.documentElement.scrollWidth") <= wide
    assert reader.serious() == []
    button.click()
    expect(page.locator("#more")).to_be_visible()


def test_one_key_does_the_same_and_a_link_keeps_it(reading):
    page = reading(html(trace()), view="board").page
    page.keyboard.press("F9")
    expect(page.locator("html")).to_have_class("projector")
    assert "projector=on" in page.evaluate("location.hash")
    other = page.context.new_page()
    other.goto(page.url)
    expect(other.locator("html")).to_have_class("projector")
    expect(other.locator("#map")).to_be_visible()
    other.close()
    page.keyboard.press("F9")
    expect(page.locator("html")).not_to_have_class("projector")


@pytest.mark.parametrize("projected", [False, True])
def test_the_pointer_finds_the_cells_of_a_larger_map(reading, projected):
    page = reading(html(trace()), view="board").page
    if projected:
        page.keyboard.press("F9")
    canvas = page.locator("#map")
    box = canvas.bounding_box()
    # The middle of the last cell of the first row, but the column of the rest.
    place = canvas.evaluate("(canvas) => [canvas.width, parseFloat(canvas.style.width)]")
    scale = box["width"] / place[1]
    said = set()
    for step in range(40):
        page.mouse.move(box["x"] + box["width"] * step / 40, box["y"] + box["height"] * 0.75)
        said.add(page.locator("#panel .said").first.inner_text())
    assert scale == pytest.approx(1.5 if projected else 1, abs=0.02)
    columns = {text.split(" → ")[1].split(":")[0] for text in said}
    assert {"a", "cat", "ran"} <= columns
