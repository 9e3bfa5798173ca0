"""A live page that is given another picture: by its path, or as a file."""

import re
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest
from PIL import Image

from jumok.decoding import DecodingOptions
from jumok.inspection.hooks.intervene import Change
from jumok.inspection.page.document import page as html
from jumok.serving.answers import answers
from jumok.serving.local import LocalServer
from jumok.serving.pictures import ServedPictures
from jumok.tracing.catalog import Family, check_given, load_family
from jumok.tracing.comparison import Comparison
from tests.browser.conftest import PATIENCE, open_view, serious
from tests.systems.pictures import write_captioner, write_pictures

expect = pytest.importorskip("playwright.sync_api", reason="needs the package playwright").expect

SHORT = DecodingOptions(beam=1, maximum_length=4)


class Live(NamedTuple):
    """A page, the family behind it, the pictures, and the model's own captions of them."""

    page: object
    family: Family
    pictures: list[Path]
    captions: list[str]

    def type_path(self, path: object) -> None:
        self.page.locator("#text").fill(str(path))
        self.page.keyboard.press("Enter")


@pytest.fixture(scope="module")
def families(tmp_path_factory) -> tuple[Family, Family]:
    """One for the server's thread, one for the test's: a model is watched by one at a time."""
    folder = write_captioner(tmp_path_factory.mktemp("captioner") / "model")
    return load_family(folder, device="cpu"), load_family(folder, device="cpu")


@pytest.fixture(params=["en-US"])
def shown(browser, families, tmp_path, request) -> Iterator[Live]:
    served, family = families
    pictures = write_pictures(tmp_path / "pictures", 2)
    for file, colour in zip(pictures, ((250, 0, 0), (0, 10, 240)), strict=True):
        Image.new("RGB", (9, 9), colour).save(file)
    traces = [family.trace(str(each), options=SHORT) for each in pictures]
    given = ServedPictures(str(pictures[0]), partial(check_given, served))
    answer = answers(Comparison(partial(served.trace, options=SHORT)), given)
    server = LocalServer(partial(html, traces[0]), answer, 0, given.receive)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    page = browser.new_context(locale=request.param).new_page()
    page.set_default_timeout(PATIENCE)
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.goto(server.link)
    yield Live(page, family, pictures, [trace.output for trace in traces])
    page.context.close()
    server.shutdown()
    server.server_close()
    given.close()
    assert faults == []


def test_a_path_is_typed_and_comes_back_by_the_link(shown):
    page, other = shown.page, shown.pictures[1]
    assert page.locator("#text").input_value() == "0.png"
    shown.type_path(other)
    expect(page).to_have_title("What the model attended to: 1.png")
    expect(page.locator("header dd").last).to_have_text(shown.captions[1])
    page.reload()
    expect(page).to_have_title("What the model attended to: 1.png")
    assert page.locator("#text").input_value() == str(other)


def test_a_path_that_leads_nowhere_is_said_and_the_picture_stays(shown):
    page = shown.page
    shown.type_path("nowhere.png")
    expect(page.locator(".fault")).to_contain_text("nowhere.png: There is no such file")
    open_view(page, "Head ablation")
    page.locator('.switches button[aria-pressed="true"]').first.click()
    expect(page.locator(".fault")).to_be_empty()
    expect(page.locator("dd.changed")).to_have_count(1)
    assert "nowhere" not in page.url
    expect(page).to_have_title("What the model attended to: 0.png")


def test_a_file_is_chosen_and_asked_about_further(shown):
    page = shown.page
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Choose a file…").click()
    chooser.value.set_files(shown.pictures[1])
    expect(page).to_have_title("What the model attended to: 1.png")
    expect(page.locator("header dd").last).to_have_text(shown.captions[1])
    assert page.locator("#text").input_value() == "1.png"
    open_view(page, "Head ablation")
    page.locator('.switches button[aria-pressed="true"]').first.click()
    expect(page.locator("dd.changed")).to_have_count(1)
    expect(page).to_have_title("What the model attended to: 1.png")


def test_a_cell_is_taken_out_and_put_back(shown):
    """What the page shows then is what the model writes without the cell."""
    page, family = shown.page, shown.family
    open_view(page, "Attribution")
    page.locator("#maps").focus()
    page.keyboard.press("ArrowRight")
    cell = int(re.search(r"spot=(\d+)", page.url)[1])
    page.get_by_role("button", name=re.compile("^Occlude ")).click()
    trace = family.trace(str(shown.pictures[0]), options=SHORT, change=Change(blank=(cell,)))
    expect(page.locator("dd.changed")).to_have_text(trace.output)
    assert f"blank={cell}" in page.url
    page.locator("#out-0").click()
    expect(page.locator("dd.changed")).to_have_count(0)


def test_what_is_no_picture_is_refused(shown, tmp_path):
    page = shown.page
    file = tmp_path / "broken.png"
    file.write_bytes(b"no picture at all")
    page.locator("#file").set_input_files(file)
    expect(page.locator(".fault")).to_contain_text("broken.png")
    expect(page).to_have_title("What the model attended to: 0.png")


def test_a_decompression_bomb_is_refused(shown, tmp_path):
    """Some kilobytes that would unpack to 300 MB."""
    file = tmp_path / "bomb.png"
    Image.new("L", (17_000, 17_000)).save(file)
    assert file.stat().st_size < 1_000_000
    shown.page.locator("#file").set_input_files(file)
    expect(shown.page.locator(".fault")).to_contain_text("16,384")


def test_a_file_that_is_too_large_is_not_even_sent(shown, tmp_path):
    file = tmp_path / "large.png"
    with file.open("wb") as stream:
        stream.truncate(33 * 1024**2)
    sent = []
    shown.page.on("request", lambda request: sent.append(request.url))
    shown.page.locator("#file").set_input_files(file)
    expect(shown.page.locator(".fault")).to_have_text("This file is too large: at most 32 MB.")
    assert sent == []


@pytest.mark.parametrize("shown", ["en-US", "ko-KR"], indirect=True)
def test_the_head_of_the_page_is_for_everybody(shown):
    page = shown.page
    assert serious(page) == []
    assert "undefined" not in page.locator("main").inner_text()
