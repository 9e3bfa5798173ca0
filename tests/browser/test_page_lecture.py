"""The pages of the worked examples show the notes' numbers."""

import math

import pytest

from jumok.inspection.page.document import page as html
from jumok_lectures.worked.catalog import WORKED, worked

expect = pytest.importorskip("playwright.sync_api", reason="needs the package playwright").expect

SHOWN = [example for note in WORKED for example in worked(note) if example.trace is not None]
FIRST = 1 / (1 + math.exp(-2))
ROWS = {
    "002:15": [["Thinking", 112, 14, FIRST], ["Machines", 96, 12, 1 - FIRST]],
    "002:11": [["I", 2 * math.log(3), math.log(3), 0.5], *(["", 0, 0, 1 / 6] for _ in range(3))],
    "003:13": [["B[4,5]", 23, 23, 1], ["B[-5,2]", -4, -4, 0]],
}  # by hand


@pytest.mark.parametrize("language", ["en-US", "ko-KR"])
@pytest.mark.parametrize("place", ROWS)
def test_the_row_has_the_notes_numbers(reading, place, language):
    (example,) = worked(place)
    reader = reading(html(example.trace), language, f"row&query={example.row}")
    expect(reader.page.locator("#panel table").first).to_be_visible()
    rows = reader.table()[1:]
    for (name, *wanted), (shown, *numbers) in zip(ROWS[place], rows, strict=False):
        assert name in ("", shown)
        assert [float(number) for number in numbers[:3]] == pytest.approx(wanted, abs=6e-5)


@pytest.mark.parametrize("language", ["en-US", "ko-KR"])
@pytest.mark.parametrize("example", SHOWN, ids=lambda example: example.quote.place)
def test_every_view_of_an_example_opens(reading, example, language):
    reader = reading(html(example.trace), language)
    views = []
    for view in reader.views():
        views.append(view)
        expect(reader.page.locator("#panel")).not_to_be_empty()
    assert views == ["overview", "board", "row", "walk"]


def test_the_walk_ends_with_z1(reading):
    (example,) = worked("002:15")
    reader = reading(html(example.trace), view="walk&query=0")
    reader.page.locator("#panel summary", has_text="All keys as a table").click()
    shown = reader.page.locator("#panel details[open] table").inner_text()
    for number in ("112.000", "14.000", f"{FIRST:.3f}", f"{1 - FIRST:.3f}"):
        assert number in shown
