"""The game over an image: the map that is shown is the right word's, and all numbers are redone."""

import base64
import io
import re
from dataclasses import replace

import numpy as np
import pytest

from jumok.inspection.page.document import page as html
from jumok.inspection.trace import Trace
from jumok.tracing.catalog import load_family
from jumok.tracing.request import Analyses
from tests.browser.conftest import PATIENCE
from tests.browser.effects import chance, says_effect, steps_of_word
from tests.browser.kinds import GATED, SHORT
from tests.browser.test_page_overview import percent, word_map
from tests.systems.pictures import write_captioner, write_noise, write_pictures

expect = pytest.importorskip("playwright.sync_api", reason="needs the package playwright").expect

GREY, VEIL = 90, 0.85
CAPTION = "the cat sat on a mat"
SHARED = re.compile(r"The map of “(.+)” has ([\d.]+ %) of its weight in the same places")


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> object:
    return load_family(
        write_captioner(tmp_path_factory.mktemp("models") / "rnn", decoder=GATED), device="cpu"
    )


@pytest.fixture(scope="module")
def captioned(model, tmp_path_factory) -> Trace:
    picture = write_noise(tmp_path_factory.mktemp("pictures") / "noise.png")
    extras = Analyses(search_tree=False, layers=False)
    return model.trace(str(picture), CAPTION, SHORT, extras=extras)


def maps_of(recorded: Trace) -> np.ndarray:
    """(words cells): what the page's own head attended to while each word was written."""
    return word_map(recorded, recorded.sites[-1], 0, recorded.findings.at_input)


def brightness_at_cells(page: object, recorded: Trace) -> np.ndarray:
    """The brightness of the image in the game at the middle of each cell, redone from its pixels.

    The veil of a weight w is grey with the opacity 0.85 (1 - sqrt(w / largest)).
    """
    image = pytest.importorskip("PIL.Image")
    data = page.evaluate("document.getElementById('game-image').toDataURL()").split(",")[1]
    shown = np.asarray(image.open(io.BytesIO(base64.b64decode(data))).convert("RGB"), dtype=float)
    kept = base64.b64decode(recorded.head()["picture"]["url"].split(",")[1])
    plain = image.open(io.BytesIO(kept)).convert("RGB").resize(shown.shape[1::-1], image.NEAREST)
    pixels = np.asarray(plain, dtype=float)
    rows, columns = recorded.axes[recorded.sites[-1].keys].grid
    found = []
    for row in range(rows):
        for column in range(columns):
            y = int((row + 0.5) * len(shown) / rows) + 3
            x = int((column + 0.5) * len(shown[0]) / columns) + 3
            away = pixels[y, x] - GREY
            veil = 1 - float((shown[y, x] - GREY) @ away / (away @ away))
            found.append(1 - veil / VEIL)
    return np.array(found)


def test_every_word_is_guessed_from_its_own_map(opened, captioned):
    maps, words = maps_of(captioned), CAPTION.split()
    order = sorted(range(len(words)), key=lambda word: -maps[word].max())
    page = opened(captioned, view="overview").page
    page.locator("#tours").click()
    page.locator("#start-game-which").focus()
    page.keyboard.press("Enter")
    right = 0
    for number, word in enumerate(order):
        expect(page.locator("#game .tour-count")).to_have_text(f"question {number + 1} of 6")
        expect(page.locator("#panel")).to_be_hidden()
        options = page.locator(".options button").all_inner_texts()
        assert options == words
        page.wait_for_timeout(50)  # the image is decoded beside the page
        wanted = np.sqrt(maps[word] / maps[word].max())
        np.testing.assert_allclose(brightness_at_cells(page, captioned), wanted, atol=0.1)
        label = page.locator("#game-image").get_attribute("aria-label")
        named = re.findall(r"\(row (\d), column (\d)\) ([\d.]+ %)", label)
        cells = np.argsort(-maps[word], kind="stable")[:3]
        columns = captioned.axes[captioned.sites[-1].keys].grid[1]
        assert [(int(r) - 1) * columns + int(c) - 1 for r, c, _ in named] == list(cells)
        shares = [percent(share) for *_, share in named]
        np.testing.assert_allclose(shares, maps[word][cells], atol=0.0051)
        guess = word if number % 2 else (word + 1) % len(words)
        page.locator(f"#option-{guess}").focus()
        page.keyboard.press("Enter")
        expect(page.locator("#game-image")).to_have_count(0)
        said = page.locator("#game-verdict").inner_text()
        right += guess == word
        assert said.startswith("Right. " if guess == word else "Not this one. ")
        assert f"“{words[word]}” was written while attending most to" in said
        assert percent(
            re.search(r"\) \(([\d.]+ %) of the attention[ ,\w]*\)", said)[1]
        ) == pytest.approx(maps[word].max(), abs=0.0051)
        drop = captioned.findings.attribution["words"].measures["blank"]["picture"]
        steps = steps_of_word(captioned, "target", word)
        lost = drop[word][maps[word].argmax()] * len(steps)
        assert says_effect(said, lost, chance(captioned, steps))
        overlap = SHARED.search(said)
        assert (overlap is None) == (guess == word)
        if overlap:
            both = np.minimum(*(maps[each] / maps[each].sum() for each in (word, guess))).sum()
            assert overlap[1] == words[guess]
            assert percent(overlap[2]) == pytest.approx(both, abs=0.0051)
        expect(page.locator(f'#row-{word}[aria-pressed="true"]')).to_have_count(1)
        assert page.locator("#game-score").inner_text() == f"{right} of {number + 1} right"
        if number < len(words) - 1:
            page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    expect(page.locator("#game")).to_be_hidden()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_finger_plays_it_in_korean(browser, captioned, tmp_path, theme):
    file = tmp_path / "page.html"
    file.write_text(html(captioned), encoding="utf-8")
    context = browser.new_context(
        locale="ko-KR", has_touch=True, viewport={"width": 400, "height": 800}, color_scheme=theme
    )
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    page.goto(file.as_uri())
    page.locator("#tours").tap()
    page.locator("#start-game-which").tap()
    for part in ("#game-title", "#game-ask"):
        assert not re.search("[A-Za-z]", page.locator(part).inner_text())
    assert re.search(
        r"\(\d행 \d열\) [\d.]+%", page.locator("#game-image").get_attribute("aria-label")
    )
    box = page.locator("#game-image").bounding_box()
    last = page.locator(".options button").last.bounding_box()
    assert last["y"] + last["height"] < 800, "the image and all answers are on the first screen"
    assert box["width"] >= 200
    page.locator(".options button").first.tap()
    expect(page.locator("#game-verdict")).to_contain_text("이 단어를 쓸 때")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.locator("#game-next").tap()
    expect(page.locator("#game-image")).to_be_visible()
    context.close()


def test_nothing_keeps_anybody_out_of_it(opened, captioned):
    reader = opened(captioned, view="overview&game=which")
    assert reader.serious() == []


def test_maps_that_do_not_tell_words_apart_are_no_question(opened, captioned, tmp_path):
    """All words look alike, or there is one vector for the whole image."""
    even = replace(captioned.sites[-1], weights=np.full_like(captioned.sites[-1].weights, 1 / 16))
    one = load_family(write_captioner(tmp_path / "one", memory="one"), device="cpu")
    (plain,) = write_pictures(tmp_path / "pictures", 1)
    extras = Analyses(ablation=False, attribution=False, search_tree=False)
    whole = one.trace(str(plain), "the cat", SHORT, extras=extras)
    for recorded in (replace(captioned, sites=(even,)), whole):
        page = opened(recorded, view="overview").page
        page.locator("#tours").click()
        offered = page.locator("[id^=start-game]").evaluate_all("all => all.map(({ id }) => id)")
        assert "start-game-which" not in offered
        assert "start-game-next" in offered
