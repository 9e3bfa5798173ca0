"""The page of `jumok serve` in a real browser: a translation box that a person can use."""

import json
import shutil
from collections.abc import Iterator
from dataclasses import asdict
from types import SimpleNamespace

import httpx
import pytest

from jumok.bundle.profile import Profile
from tests.browser.conftest import Reader, violations
from tests.serving.http.process import ServedProcess, serving


@pytest.fixture(scope="module")
def server(tiny_bundle, tmp_path_factory) -> Iterator[ServedProcess]:
    with serving(tmp_path_factory.mktemp("box"), f"tiny={tiny_bundle}") as server:
        yield server


def reader(browser, server, language: str = "en-US") -> Reader:
    return Reader(browser, SimpleNamespace(as_uri=lambda: f"{server.url}/"), language)


def test_a_person_translates_and_sees_what_words_come_from(browser, server):
    person = reader(browser, server)
    page = person.page
    page.set_default_timeout(60_000)
    page.get_by_label("Text", exact=True).fill("the cat sat\n\nthe dog")
    page.wait_for_selector(".written span")
    asked = {"text": ["the cat sat", "the dog"], "model": "tiny"}
    answers = httpx.post(f"{server.url}/v1/translate", json=asked, timeout=60).json()["answers"]
    first, empty, last = page.locator(".written p").all_inner_texts()
    assert [" ".join(first.split()), " ".join(last.split())] == [
        " ".join(each["text"].split()) for each in answers
    ]
    assert not empty.strip()
    page.locator(".written span").first.hover()
    page.wait_for_selector(".seen-source .lit")
    assert "Confidence" in page.locator(".side footer").last.inner_text()
    assert not person.serious()
    assert not person.faults
    assert all(request.startswith(server.url) for request in person.requests)


def test_one_sentence_shows_its_attention_by_layer(browser, server):
    person = reader(browser, server, "ko-KR")
    page = person.page
    page.set_default_timeout(60_000)
    page.get_by_label("원문", exact=True).fill("the cat")
    page.wait_for_selector(".written span")
    assert page.locator("html").get_attribute("lang") == "ko"
    page.get_by_text("모델이 주목한 곳").click()
    page.wait_for_selector(".matrix td")
    first = [each.get_attribute("title") for each in page.locator(".matrix td[title]").all()[:40]]
    page.get_by_label("층", exact=True).select_option("0")
    page.wait_for_function(
        "before => document.querySelector('.matrix td[title]')?.title !== before", arg=first[0]
    )
    assert page.get_by_role("heading", name="다른 번역").count() == 1
    assert not person.faults


def test_a_text_in_the_target_language_is_noted(browser, server):
    person = reader(browser, server, "ko-KR")
    page = person.page
    page.set_default_timeout(60_000)
    page.get_by_label("원문", exact=True).fill("고양이가 앉았다.")
    page.wait_for_selector(".written span")
    assert "이미 도착 언어로 쓴 글로 보입니다." in page.locator(".noted").inner_text()
    assert not person.faults


def test_words_that_the_training_data_did_not_have_are_named(browser, tiny_bundle, tmp_path):
    bundle = shutil.copytree(tiny_bundle, tmp_path / "known")
    config = json.loads((bundle / "config.json").read_text("utf-8"))
    config["profile"] = asdict(Profile.of(["the cat sat on the mat"] * 3, ["the cat"], 1.0))
    (bundle / "config.json").write_text(json.dumps(config))
    with serving(tmp_path, f"known={bundle}") as server:
        for language, label, said in (
            ("en-US", "Text", "Words that the training data did not have: Hello, bird."),
            ("ko-KR", "원문", "학습 데이터에 없던 단어: Hello, bird."),
        ):
            person = reader(browser, server, language)
            person.page.set_default_timeout(60_000)
            person.page.get_by_label(label, exact=True).fill("Hello, cat! The bird sat.")
            person.page.wait_for_selector(".written span")
            assert said in person.page.locator(".noted").inner_text()
            assert not person.faults


def test_terms_are_used_or_said_to_be_missing(browser, server):
    person = reader(browser, server)
    page = person.page
    page.set_default_timeout(60_000)
    page.get_by_text("Terms", exact=True).click()
    page.get_by_label("Terms", exact=True).fill("cat = 강아지\ndog =")
    page.get_by_label("Text", exact=True).fill("cat\nthe cat sat")
    page.wait_for_selector(".written span")
    assert page.locator(".written p").first.inner_text().strip() == "강아지"
    assert "No word is surely the translation of: cat." in page.locator(".fault").inner_text()
    assert not person.faults


def test_a_text_is_shown_as_text_and_nothing_else_is_loaded(browser, server):
    person = reader(browser, server)
    person.page.set_default_timeout(60_000)
    person.page.get_by_label("Text", exact=True).fill("<img src=x onerror=alert(1)> the cat")
    person.page.wait_for_selector(".written span")
    person.page.locator(".written span").first.hover()
    assert person.page.locator("img").count() == 0
    answer = httpx.get(f"{server.url}/")
    assert "default-src 'none'" in answer.text
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_the_languages_of_a_model_of_several_are_chosen(browser, tiny_bundle, tmp_path):
    folder = shutil.copytree(tiny_bundle, tmp_path / "model")
    config = json.loads((folder / "config.json").read_text())
    config["languages"] = {"eng_Latn": {}, "deu_Latn": {"asked": 7}, "fra_Latn": {"asked": 9}}
    config["pairs"] = [["eng_Latn", "deu_Latn"], ["eng_Latn", "fra_Latn"]]
    (folder / "config.json").write_text(json.dumps(config))
    with serving(tmp_path, f"both={folder}") as server:
        person = reader(browser, server)
        page = person.page
        page.set_default_timeout(60_000)
        page.get_by_label("Text", exact=True).fill("the cat sat")
        into = page.get_by_label("To", exact=True)
        assert into.locator("option").all_inner_texts() == ["German", "French"]
        for code in ("fr", "de"):
            with page.expect_response("**/v1/translate") as answered:
                into.select_option(code)
            assert answered.value.request.post_data_json["to"] == code
            asked = {"text": "the cat sat", "from": "en", "to": code}
            answer = httpx.post(f"{server.url}/v1/translate", json=asked, timeout=60).json()
            assert answered.value.json()["answers"][0]["text"] == answer["answers"][0]["text"]
        assert not person.serious()
        assert not person.faults


def test_a_sentence_to_click_and_the_way_inside(browser, tiny_bundle, tmp_path):
    """Languages by their names, an example, and the command with the text that is typed."""
    folder = shutil.copytree(tiny_bundle, tmp_path / "model")
    config = json.loads((folder / "config.json").read_text())
    config |= {"source_language": "en", "target_language": "ko"}
    (folder / "config.json").write_text(json.dumps(config))
    with serving(tmp_path, f"tiny={folder}") as server:
        person = reader(browser, server, "ko-KR")
        page = person.page
        page.set_default_timeout(60_000)
        assert page.locator("h1").inner_text() == "번역영어 → 한국어 · tiny · jumok"
        example = page.locator(".examples button").first
        text = example.inner_text()
        page.set_viewport_size({"width": 1280, "height": 900})
        assert example.bounding_box()["height"] < 40  # one line, not the height of the box
        with page.expect_response("**/v1/translate") as answered:
            example.click()
        assert answered.value.request.post_data_json["text"] == [text]
        assert page.locator("#source").input_value() == text
        page.locator(".examples").wait_for(state="hidden")
        page.get_by_text("안을 들여다보기").click()
        assert page.locator("details code").inner_text() == f"jumok look MODEL '{text}'"
        page.get_by_label("원문", exact=True).fill("don't")
        page.wait_for_selector("details code >> text=don")
        assert page.locator("details code").inner_text() == "jumok look MODEL 'don'\\''t'"
        for theme in ("light", "dark"):
            page.emulate_media(color_scheme=theme)
            for width in (1280, 400):
                page.set_viewport_size({"width": width, "height": 800})
                assert not person.serious()
                assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert not person.faults


@pytest.mark.parametrize("language", ["en-US", "ko-KR"])
def test_nothing_keeps_anybody_out(browser, server, language):
    """With a translation, its attention and other translations; in both themes and widths."""
    person = reader(browser, server, language)
    page = person.page
    page.locator("#source").fill("the cat sat")
    page.wait_for_selector(".written span")
    page.locator("details > summary").first.wait_for()
    page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
    page.locator(".matrix td").first.wait_for(state="attached")
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        for width in (1280, 400):
            page.set_viewport_size({"width": width, "height": 800})
            assert violations(page) == []
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.context.close()
    assert person.faults == []
