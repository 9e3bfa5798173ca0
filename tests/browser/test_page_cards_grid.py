"""Cards of heads that look at a picture's cells, in a real browser and in both languages."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from jumok.inspection.heads import cards as head_cards
from jumok.inspection.heads.cards import AnyHeadCard
from jumok.inspection.page.cards_page import cards_page
from tests.browser.conftest import Reader
from tests.inspection.test_grid_measures import QUIET as CELLS
from tests.inspection.test_measures import QUIET as TEXT

playwright = pytest.importorskip("playwright.sync_api", reason="needs the package playwright")

WORDS = replace(CELLS, nouns=1200, pointing=0.75, in_box=0.4, even_in_box=0.05, reading="reads")
CAPTIONER: list[AnyHeadCard] = [
    replace(TEXT, part="decoder", site="decoder.blocks.0.self_attention"),
    replace(CELLS, head=0),
    replace(WORDS, head=1, where=((0.0, 0.0, 0.0), (0.0, 0.8, 0.2))),
]
AWAY = ((0.0, 0.0, 0.0, 0.0, 0.0), (0.0, 0.25, 0.125, 0.5, 0.0), (0.0, 0.0, 0.0, 0.0, 0.0))
PIXELS: list[AnyHeadCard] = [
    replace(
        CELLS,
        site="stack.stages.1.2",
        part="image",
        layer=1,
        offsets=AWAY,
        beyond=0.125,
        same=0.1,
        near=0.3,
        distance=1.5,
        even_distance=1.25,
        residual_gate=0.25,
    )
]


@pytest.fixture
def opened(reading):
    def open_page(models: dict[str, list[AnyHeadCard]], language: str = "en-US") -> Reader:
        return reading(cards_page(models, "captions.tsv", 60, "pictures"), language)

    return open_page


def labels(reader: Reader) -> list[str]:
    return [
        each.get_attribute("aria-label") for each in reader.page.locator(".cards > button").all()
    ]


def test_a_captioners_cards_say_what_was_measured(opened):
    reader = opened({"scenes": CAPTIONER})
    assert "over 60 images of captions.tsv" in reader.page.locator("header").inner_text()
    assert labels(reader) == [
        "decoder self-attention 1.1: no clear role; entropy 0.50, confidence 0.50, importance 0.50",
        "cross-attention 1.1: no clear role; entropy 0.50, confidence 0.50, importance 0.60",
        "cross-attention 1.2: points; entropy 0.50, confidence 0.50, importance 0.60, "
        "pointing 0.75",
    ]
    assert "strongest cell is 80 %" in reader.page.locator("#panel .help").inner_text()
    reader.choose("Order", "pointing")
    assert "points" in labels(reader)[0]


def test_a_click_says_the_rule_the_measures_the_map_and_what_is_left_out(opened):
    reader = opened({"scenes": CAPTIONER})
    reader.page.locator("#card-2").click()
    region = reader.page.get_by_role("region", name="cross-attention 1.2").first
    text = region.inner_text()
    assert "Points at what the word names" in text
    assert "Measured at the next step, which reads the word, over 1,200 nouns." in text
    cells = {row[0]: row[1] for row in reader.table()[1:]}
    assert (cells["pointing"], cells["weight in the box"]) == ("0.750", "0.400")
    assert {"distance", "weight on the first", "rarest token"} & set(cells) == set()
    assert "cross-attention: offsets, distance – a word has no position in the image" in text
    assert "cross-attention: pointing" not in text
    reader.page.locator(".definition summary").click()
    rows = reader.page.locator(".definition details tr").all()
    assert [row.locator("th, td").all_inner_texts() for row in rows] == [
        ["row", "1", "2", "3"],
        ["1", "0.000", "0.000", "0.000"],
        ["2", "0.000", "0.800", "0.200"],
    ]


def test_the_table_leaves_empty_what_does_not_apply_and_says_why(opened):
    reader = opened({"scenes": CAPTIONER})
    reader.choose("Show as", "table")
    header, own, quiet, judged = reader.table()
    at = header.index("pointing")
    assert [row[at] for row in (own, quiet, judged)] == ["", "", "0.750"]
    at = header.index("weight on the first")
    assert [row[at] for row in (own, quiet, judged)] == ["0.100", "", ""]
    assert "distance" not in header, "no column for what nobody has"
    told = reader.page.locator(".left-out li").all_inner_texts()
    assert "cross-attention: first, last, previous, next – cells have no sequential order" in told


def test_offsets_of_cells_are_rows_and_columns(opened):
    reader = opened({"mnist": PIXELS})
    assert labels(reader)[0].startswith("image self-attention 2.1: no clear role")
    said = reader.page.locator("#panel .help").inner_text()
    assert "strongest offset is 50 %" in said
    assert "strongest cell is 40 %" in said
    reader.page.locator("#card-0").click()
    reader.page.locator(".definition summary").first.click()
    summary = reader.page.locator(".definition summary").first.inner_text()
    assert "12.5 % further away" in summary
    rows = reader.page.locator(".definition details").first.locator("tr").all()
    shown = [row.locator("th, td").all_inner_texts() for row in rows]
    assert shown[0] == ["row", "−2", "−1", "0", "+1", "+2"]
    assert shown[2] == ["0", "0.000", "0.250", "0.125", "0.500", "0.000"]
    cells = {row[0]: row[1] for row in reader.table()[1:]}
    assert (cells["distance"], cells["learned gate"]) == ("1.500", "0.250")


def test_maps_are_drawn_on_one_scale(opened):
    """The darkest of all cells of all heads is the end of the palette; half of it its middle."""
    reader = opened({"scenes": CAPTIONER})
    with reader.page.expect_download() as found:
        reader.page.locator("#save-svg").click()
    text = Path(found.value.path()).read_text(encoding="utf-8")
    side = f'width="{96 / 3 - 1:.0f}" height="{96 / 3 - 1:.0f}"'
    fills = re.findall(rf'{side} fill="(rgb\([\d,]+\))"', text)
    assert len(fills) == 12
    quiet, judged = fills[:6], fills[6:]
    assert len({quiet[0], quiet[2], quiet[3], quiet[5]}) == 1, "0.1 each"
    assert quiet[1] == judged[5], "0.2 of one head is 0.2 of another"
    assert quiet[4] not in (judged[4], judged[0])
    with reader.page.expect_download() as found:
        reader.page.locator("#save-png").click()
    assert Path(found.value.path()).read_bytes().startswith(b"\x89PNG")


def test_korean_readers_get_every_word_in_korean(opened):
    reader = opened({"scenes": CAPTIONER}, "ko-KR")
    assert labels(reader)[2].startswith("크로스 어텐션 1.2: 지목(포인팅);")
    assert "captions.tsv의 이미지 60장에 대한 평균" in reader.page.locator("header").inner_text()
    reader.choose("표시 형식", "표")
    told = " ".join(reader.page.locator(".left-out").all_inner_texts())
    assert not re.search(r"[a-z]{3,}", told.replace("boxes.jsonl", "")), told
    reader = opened({"mnist": PIXELS}, "ko-KR")
    reader.page.locator("#card-0").click()
    told = reader.page.locator(".left-out").inner_text()
    assert not re.search(r"[a-z]{3,}", told), told


def test_keyboard_walks_over_all_kinds_of_cards(opened):
    reader = opened({"scenes": CAPTIONER})
    reader.page.locator("#card-0").focus()
    reader.page.keyboard.press("ArrowRight")
    reader.page.keyboard.press("ArrowRight")
    reader.page.keyboard.press("Enter")
    assert reader.page.locator("#card-2").get_attribute("aria-expanded") == "true"


@pytest.mark.parametrize("fragment", ["card=2", "as=table", "part=cross&sort=pointing"])
def test_page_is_accessible(opened, fragment):
    reader = opened({"a": CAPTIONER, "b": CAPTIONER})
    reader.page.evaluate(f"location.hash = '{fragment}'")
    assert reader.serious() == []


def test_every_role_has_its_rule_on_the_page():
    text = (Path(__file__).parents[2] / "web" / "cards_words_grid.js").read_text("utf-8")
    for role in ("points", "same", "shift", "near", "one place", "broad"):
        assert len(re.findall(rf'^\s+"?{role}"?: "', text, re.MULTILINE)) == 2, role
    for reason in ("NO_ORDER", "NO_PIECES", "NO_PLACE", "NO_WORDS", "NO_BOXES"):
        assert f'"{getattr(head_cards, reason)}"' in text
