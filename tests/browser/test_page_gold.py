"""Links that people drew, on the board of a real browser, and the error rate beside them."""

from urllib.parse import parse_qs, urlsplit

import pytest

from jumok.alignment.words import Link
from jumok.evaluation.alignment import parse_gold, score_links, with_gold
from jumok.inspection.trace import Trace
from jumok.plot.board import board, matrix
from tests.browser.conftest import open_controls, take
from tests.inspection.traces import trace

playwright = pytest.importorskip("playwright.sync_api", reason="needs the package playwright")
GOLD = "0-0 1-0 2-1 0p1"


def found_of(recorded: Trace, layer: int, head: int | str) -> list[Link]:
    site = next(each for each in recorded.sites if (each.part, each.layer) == ("cross", layer))
    values = board(recorded, site, matrix(site, head), "words", "writes").values
    return [(int(row.argmax()), target) for target, row in enumerate(values)]


def error_rate(recorded: Trace, layer: int, head: int | str = "mean", gold: str = GOLD) -> str:
    scores = score_links([found_of(recorded, layer, head)], [parse_gold(gold)])
    return f"{100 * scores.error_rate:.1f} %"


def said(reader: object, text: str) -> None:
    playwright.expect(reader.page.locator("#error-rate")).to_contain_text(text)


def test_error_rate_follows_layer_and_head(opened):
    recorded = with_gold(trace(), parse_gold(GOLD))
    reader = opened(recorded)
    rates = set()
    for layer in range(2):
        reader.choose("Layer", str(layer + 1))
        reader.choose("Head", "mean of all")
        said(reader, f"Alignment error rate {error_rate(recorded, layer)}")
        for head in range(3):
            reader.choose("Head", str(head + 1))
            said(reader, f"error rate {error_rate(recorded, layer, head)}")
            rates.add(error_rate(recorded, layer, head))
    assert len(rates) > 1
    reader.page.locator("#panel details:not(#more, #use) > summary").first.click()
    table = reader.table()
    assert table[0][-1] == "error rate"
    expected = [error_rate(recorded, layer, head) for layer in range(2) for head in range(3)]
    assert [row[-1] for row in table[1:]] == expected
    assert reader.serious() == []


def test_links_are_typed_and_the_address_keeps_them(opened):
    recorded = trace()
    reader = opened(recorded)
    assert "0-0 1-2" in reader.page.locator("#panel").inner_text()
    open_controls(reader.page)
    box = reader.page.get_by_label("Gold alignment", exact=True)
    box.fill(GOLD)
    box.press("Enter")
    said(reader, error_rate(recorded, 0))
    assert parse_qs(urlsplit(reader.page.url).fragment)["gold"] == [GOLD]
    reader.page.reload()
    said(reader, error_rate(recorded, 0))
    reader.requests.pop()  # the page itself, once more
    open_controls(reader.page)
    box.fill("0-0 9-0")
    box.press("Enter")
    alert = reader.page.locator("#panel [role=alert]")
    playwright.expect(alert).to_contain_text("“9-0” is not a link between two of these words")
    box.fill("0p0")
    box.press("Enter")
    said(reader, "The error rate needs at least one sure link.")
    reader.page.get_by_role("button", name="한국어").click()
    said(reader, "확실한 정렬이 하나는 있어야")


def test_cells_are_linked_by_mouse_and_by_keyboard(opened):
    recorded = trace()
    reader = opened(recorded)
    reader.choose("On click", "links two words")
    open_controls(reader.page)
    box = reader.page.get_by_label("Gold alignment", exact=True)
    canvas = reader.page.locator("#map")
    canvas.focus()
    for links in ("0-0", "0p0", "", "0-0"):
        reader.page.keyboard.press("Enter")
        playwright.expect(box).to_have_value(links)
        canvas.focus()
    said(reader, error_rate(recorded, 0, gold="0-0"))
    reader.page.keyboard.press("ArrowDown")
    reader.page.keyboard.press("ArrowRight")
    reader.page.keyboard.press("Enter")
    playwright.expect(box).to_have_value("0-0 1-1")
    reader.page.keyboard.press("Tab")
    size = canvas.bounding_box()
    # The last cell but that of the rest, which is no word.
    canvas.click(position={"x": size["width"] - 40, "y": size["height"] - 20})
    playwright.expect(box).to_have_value("0-0 1-1")
    canvas.click(position={"x": size["width"] - 110, "y": size["height"] - 20})
    playwright.expect(box).not_to_have_value("0-0 1-1")


def test_saved_picture_has_the_frames(opened):
    reader = opened(with_gold(trace(), parse_gold(GOLD)))
    with reader.page.expect_download() as found:
        take(reader.page, "save-svg")
    svg = found.value.path().read_text(encoding="utf-8")
    assert svg.count('stroke="#c45a00"') == 4
    assert svg.count('stroke-dasharray="4 3"') == 1


@pytest.mark.parametrize(
    ("part", "unit"), [("encoder self-attention (source → source)", "words"), (None, "tokens")]
)
def test_only_words_of_two_sides_are_linked(opened, part, unit):
    reader = opened(with_gold(trace(), parse_gold(GOLD)))
    if part:
        reader.choose("Attention kind", part)
    reader.choose("Rows and columns", unit)
    playwright.expect(reader.page.get_by_label("Gold alignment", exact=True)).to_have_count(0)
    playwright.expect(reader.page.locator("#error-rate")).to_have_count(0)
