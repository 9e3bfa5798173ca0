"""The page of an exported model as others meet it: headline, title, and previews of links."""

import re

import pytest

from jumok.bundle.reading import read_bundle
from jumok.cli.verbs.ship.export import write_export
from jumok.errors import ConfigError
from jumok.systems.in_page.language_model import WebLanguageModel
from jumok.systems.in_page.page import HEADLINES, PageModel
from jumok.systems.in_page.translator import WebTranslator
from tests.browser.test_page_exported import SHORT, transformer
from tests.browser.test_page_exported_texts import write_model

expect = pytest.importorskip("playwright.sync_api", reason="needs the package playwright").expect

TITLE = 'cats & "dogs" <i>'
SAID = {
    "translation": ("a whole translator. Type.", "번역기 하나가 통째로"),
    "language-model": ("a whole language model. Type.", "언어 모델 하나가 통째로"),
}


@pytest.fixture(scope="module", params=["translation", "language-model"])
def exported(request, tmp_path_factory) -> PageModel:
    folder = tmp_path_factory.mktemp("public") / "model"
    if request.param == "translation":
        return WebTranslator(read_bundle(transformer(folder)), "int8", SHORT)
    return WebLanguageModel(read_bundle(write_model(folder)), "int8")


def test_a_page_says_what_it_is_in_both_languages(reading, exported):
    task = exported.bundle.config.task
    reader = reading(exported.page(TITLE, ["the cat"]))
    page = reader.page
    heading = page.locator("h1").first
    expect(heading).to_contain_text(SAID[task][0])
    expect(page).to_have_title(f"{TITLE}: {HEADLINES[task][0]}: the cat")
    assert page.locator("#text").input_value() == "the cat"
    page.locator("h1 button").click()
    expect(page.locator("#text")).to_be_focused()
    page.locator("#language").click()
    expect(heading).to_contain_text(SAID[task][1])
    page.locator("#language").click()
    page.set_viewport_size({"width": 1280, "height": 900})
    if task == "translation":  # a language model has options above
        assert page.locator("#panel .word").first.bounding_box()["y"] < 200
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        for width in (1280, 400):
            page.set_viewport_size({"width": width, "height": 800})
            assert reader.serious() == []
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def metas(html: str) -> dict[str, str]:
    found = re.findall(r'<meta (?:name|property)="([^"]+)" content="([^"]*)">', html)
    return dict(found)


def test_previews_of_links_are_told_what_it_is(exported):
    """What is in a title is text there, too; a picture needs a whole address."""
    alone = metas(exported.page(TITLE))
    title = "cats &amp; &quot;dogs&quot; &lt;i&gt;: " + HEADLINES[exported.bundle.config.task][0]
    assert alone["og:title"] == title
    assert alone["description"] == alone["og:description"]
    assert "og:image" not in alone
    placed = metas(exported.page(TITLE, address="https://example.org/cats/"))
    assert placed["og:url"] == "https://example.org/cats/"
    assert placed["og:image"] == "https://example.org/cats/preview.png"
    assert placed["twitter:card"] == "summary_large_image"


@pytest.mark.parametrize(
    ("to", "address"),
    [("web", "example.org"), ("web", "https://example.org"), ("onnx", "https://a.b/")],
)
def test_an_address_is_that_of_a_page(tiny_bundle, tmp_path, to, address):
    with pytest.raises(ConfigError, match="this is no address of a page") as raised:
        write_export(read_bundle(tiny_bundle), to, tmp_path / "page", address=address)
    assert address in str(raised.value)
    assert not (tmp_path / "page").exists()
