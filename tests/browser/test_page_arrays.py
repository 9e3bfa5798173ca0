"""A saved page draws its first picture before all of its arrays are there."""

from pathlib import Path

import numpy as np
import pytest

import jumok
from jumok.decoding import DecodingOptions
from jumok.inspection.page import document as page_module
from jumok.inspection.page.packing import lettered
from jumok.inspection.page.source import source_folder
from jumok.inspection.trace import Trace
from tests.browser.conftest import wait_until

TEXT = "the cat sat on the mat and the dog ran"


@pytest.fixture
def recorded(tiny_bundle) -> Trace:
    translator = jumok.load(tiny_bundle, device="cpu")
    return jumok.trace(translator, TEXT, None, DecodingOptions(maximum_length=9))


HELD_BACK = """
let count = 0;
const own = Response.prototype.arrayBuffer;
const released = new Promise((done) => { window.release = done; });
Response.prototype.arrayBuffer = async function () {
  const later = count++ > 0;
  const found = await own.call(this);
  if (later) await released;
  return found;
};
"""


@pytest.fixture
def opened_early(browser, tmp_path: Path, recorded, monkeypatch):
    """Opens a saved page of many parts, which gets those after the first on `release()`."""
    for name in ("WHOLE_BYTES", "PART_BYTES"):
        monkeypatch.setattr(page_module, name, 10)
    file = tmp_path / "page.html"
    file.write_text(page_module.page(recorded), "utf-8")
    context = browser.new_context(locale="en-US")
    faults: list[str] = []

    def opened(fragment: str):
        page = context.new_page()
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.add_init_script(HELD_BACK)
        page.goto(f"{file.as_uri()}{fragment}")
        return page

    yield opened
    context.close()
    assert faults == []


def test_the_first_picture_does_not_wait_for_all_parts(opened_early):
    page = opened_early("")
    page.locator(".bands path.on").first.wait_for(state="attached")
    said = page.locator("#sentence").inner_text()
    panel = "document.getElementById('panel').parentElement.inert"
    drawn = "document.querySelectorAll('#strip :is(img, span)[style]').length"
    assert page.evaluate(panel), "what is pointed at may not be there yet"
    assert page.evaluate(drawn) == 0
    page.evaluate("release()")
    wait_until(page, f"!{panel} && {drawn} > 0")
    assert page.locator("#sentence").inner_text() == said
    other = page.locator("#strip button[aria-pressed='false']").last
    other.click()
    wait_until(page, "document.querySelectorAll('.bands path.on').length > 0")


@pytest.mark.parametrize("fragment", ["#view=grid", "#layer=0"])
def test_a_link_to_another_view_or_layer_waits_for_its_numbers(opened_early, fragment):
    page = opened_early(fragment)
    wait_until(page, "document.getElementById('data').arrays?.length === 1")
    assert page.locator("#panel").count() == 0
    page.evaluate("release()")
    page.locator("#panel canvas").first.wait_for(state="attached")


def test_letters_become_the_bytes_that_they_were(browser):
    """Of every length that ends within a letter in another way, by the function of the page."""
    loader = (source_folder() / "loader.js").read_text("utf-8")
    bytes_of = loader[loader.index("const bytesOf") : loader.index("const find")]
    random = np.random.default_rng(7)
    given = [random.integers(0, 256, length, np.uint8).tobytes() for length in range(40)]
    given += [b"\0" * 30, b"\xff" * 31]
    letters = [lettered(each) for each in given]
    page = browser.new_page()
    read = page.evaluate(
        f"(letters) => {{ {bytes_of} return letters.map((each) => [...bytesOf(each)]); }}", letters
    )
    page.close()
    assert [bytes(each) for each in read] == given
    assert all("#" <= letter <= "~" and letter != "<" for each in letters for letter in each)
