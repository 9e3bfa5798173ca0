"""The page of head cards in a real browser: by mouse and by keyboard, in both languages."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from jumok.inspection.heads.cards import HeadCard
from jumok.inspection.page.cards_page import cards_page
from tests.browser.conftest import Reader
from tests.inspection.test_measures import QUIET

playwright = pytest.importorskip("playwright.sync_api", reason="needs the package playwright")

HOSTILE = "</script><img src=x onerror='window.ran = true'>/model"


def card(part: str, layer: int, head: int, importance: float, previous: float = 0.1) -> HeadCard:
    judged = {"precision": 0.45, "error_rate": 0.4} if part == "cross" else {}
    site = f"{part}.blocks.{layer}"
    return replace(
        QUIET,
        site=site,
        part=part,
        layer=layer,
        head=head,
        importance=importance,
        previous=previous,
        offsets=(0.0,) * 8 + (0.625,) + (0.25,) + (0.0,) * 8 + (0.125,),
        **judged,
    )


CARDS = [card("encoder", 0, 0, 0.2), card("encoder", 0, 1, 0.9, 0.51), card("cross", 0, 0, 0.5)]


@pytest.fixture
def opened(reading):
    def open_page(models: dict[str, list[HeadCard]], language: str = "en-US") -> Reader:
        return reading(cards_page(models, "dev.en + dev.de", 1200), language)

    return open_page


def labels(reader: Reader) -> list[str]:
    return [
        each.get_attribute("aria-label") for each in reader.page.locator(".cards > button").all()
    ]


def test_cards_show_what_was_measured(opened):
    reader = opened({"run/model": CARDS})
    assert reader.page.locator("header").inner_text().splitlines()[-1] == (
        "on average over 1,200 sentences of dev.en + dev.de"
    )
    assert labels(reader) == [
        "encoder self-attention 1.1: no clear role; entropy 0.50, confidence 0.50, importance 0.20",
        "encoder self-attention 1.2: previous; entropy 0.50, confidence 0.50, importance 0.90",
        "cross-attention 1.1: nearest: aligned, 0.45 of 0.50; entropy 0.50, confidence 0.50, "
        "importance 0.50, alignment error 0.40",
    ]
    reader.choose("Show as", "table")
    header, first, *_ = reader.table()
    assert first[:3] == ["encoder self-attention 1.1", "no clear role", "1.000"]
    shown = dict(zip(header, first, strict=True))
    assert shown["weight on the one before"] == "0.100"
    assert shown["alignment error"] == "", "nobody judges heads that do not look at the source"


def test_cards_are_sorted_and_chosen(opened):
    reader = opened({"run/model": CARDS})
    reader.choose("Order", "importance")
    assert [label.split(":")[0][-3:] for label in labels(reader)] == ["1.2", "1.1", "1.1"]
    reader.choose("Order", "Role")
    assert labels(reader)[0].startswith("encoder self-attention 1.2: previous")
    reader.choose("Attention kind", "cross-attention")
    assert len(labels(reader)) == 1
    assert "part=cross" in reader.page.url


def test_a_click_says_what_a_card_means(opened):
    reader = opened({"run/model": CARDS})
    reader.page.locator(".cards > button").nth(1).click()
    region = reader.page.get_by_role("region", name="encoder self-attention 1.2").first
    assert "Attends to the previous position" in region.inner_text()
    cells = {row[0]: row[1:] for row in reader.table()[1:]}
    assert cells["weight on the one before"][0] == "0.510"
    assert cells["importance"][1].endswith("the squares of a layer add up to 1.")
    assert "alignment error" not in cells
    reader.page.locator(".definition summary").click()
    rows = reader.page.locator(".definition details tr").all()
    shares = [row.locator("th, td").all_inner_texts() for row in rows[1:]]
    assert [row for row in shares if row[1] != "0.000"] == [
        ["−1", "0.625"], ["0", "0.250"], ["> +8", "0.125"],
    ]  # fmt: skip
    reader.page.locator(".cards > button").nth(1).click()
    playwright.expect(reader.page.locator(".definition")).to_have_count(0)


def test_keyboard_walks_from_card_to_card(opened):
    reader = opened({"run/model": CARDS})
    reader.page.locator("#card-0").focus()
    reader.page.keyboard.press("ArrowRight")
    reader.page.keyboard.press("Enter")
    assert reader.page.locator("#card-1").get_attribute("aria-expanded") == "true"
    reader.page.keyboard.press("ArrowLeft")
    assert reader.page.evaluate("document.activeElement.id") == "card-0"


def test_models_stand_side_by_side(opened):
    early = [replace(each, uniform_share=0.75) for each in CARDS]
    reader = opened({"run/1000/model": early, "run/2000/model": CARDS})
    assert "1000 → 2000" in reader.page.locator("#panel .help").inner_text()
    reader.page.locator("#card-2").click()
    header, first, *_ = reader.table()
    assert header[1:3] == ["1000", "2000"]
    assert first[1:3] == ["0.750", "0.500"]
    with reader.page.expect_download() as found:
        reader.page.locator("#save-svg").click()
    text = Path(found.value.path()).read_text(encoding="utf-8")
    # On the scale from 0 to 1: the dots of a curve of 0.75 and 0.5, 44 high.
    assert text.count('width="6" height="6"') == 6
    assert 'M20 216L200 227"' in text
    reader.choose("Over the models", "alignment error")
    with reader.page.expect_download() as found:
        reader.page.locator("#save-svg").click()
    text = Path(found.value.path()).read_text(encoding="utf-8")
    assert text.count('width="6" height="6"') == 2, "only heads over the source are judged"


def test_bars_have_the_heights_of_their_shares(opened):
    reader = opened({"run/model": CARDS[:1]})
    with reader.page.expect_download() as found:
        reader.page.locator("#save-svg").click()
    text = Path(found.value.path()).read_text(encoding="utf-8")
    assert "a bar of full height is 63 %" in reader.page.locator("#panel .help").inner_text()
    heights = [float(height) / 56 * 0.625 for height in re.findall(r'height="([\d.]+)"', text)]
    assert [share for share in (0.625, 0.25, 0.125) if share not in heights] == []
    with reader.page.expect_download() as found:
        reader.page.locator("#save-png").click()
    assert Path(found.value.path()).read_bytes().startswith(b"\x89PNG")


def test_korean_readers_get_korean(opened):
    reader = opened({"run/model": CARDS}, "ko-KR")
    assert reader.page.locator("h1").inner_text().startswith("헤드마다 하는 일")
    assert labels(reader)[1].startswith("인코더 셀프 어텐션 1.2: 앞;")
    reader.page.locator("#language").click()
    assert reader.page.locator("h1").inner_text().startswith("What each head does")


def test_heads_of_single_texts_look_at_the_text(opened):
    reader = opened({"run/model": CARDS[:1]})
    assert labels(reader)[0].startswith("self-attention 1.1:")


def test_names_are_text_whatever_they_say(opened):
    reader = opened({HOSTILE: CARDS, "b/model": CARDS})
    reader.page.locator("#card-0").click()
    assert reader.page.evaluate("window.ran") is None
    assert HOSTILE in reader.page.locator("h1").inner_text()


@pytest.mark.parametrize("fragment", ["card=1", "as=table&sort=role"])
def test_page_of_cards_is_accessible(opened, fragment):
    reader = opened({"run/1000/model": CARDS, "run/2000/model": CARDS})
    reader.page.evaluate(f"location.hash = '{fragment}'")
    assert reader.serious() == []
