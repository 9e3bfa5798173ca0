"""The page says what it shows: the very cell, the rest of a row, the scale, in every theme."""

import base64
import io
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from jumok.inspection.trace import Axis, Site, Trace
from tests.browser.conftest import take
from tests.inspection.traces import softmax, trace

expect = pytest.importorskip("playwright.sync_api", reason="needs the package playwright").expect


def in_pieces(**changed: object) -> Trace:
    """Words of several tokens on both sides: the first of a written word is a mere space."""
    source, target = ("the", "▁", "c", "at", "ran"), ("▁", "고양", "이가", "뛰었다")
    axes = {
        "source": Axis((*source, "</s>"), (0, 1, 1, 1, 2, None), ("the", "cat", "ran")),
        "target": Axis(("<s>", *target), (None, 0, 0, 0, 1), ("고양이가", "뛰었다")),
    }
    return replace(trace(source, target), axes=axes, **changed)


def cross(recorded: Trace, layer: int = 1) -> Site:
    return next(site for site in recorded.sites if site.name == f"cross.{layer}")


def pick(reader: object, row: int, column: int) -> None:
    reader.page.locator("#map").focus()
    reader.page.keyboard.press("Control+Home")
    for key, times in (("ArrowDown", row), ("ArrowRight", column)):
        for _ in range(times):
            reader.page.keyboard.press(key)
    reader.page.keyboard.press("Enter")


@pytest.mark.parametrize(("kind", "over"), [("mean of all", "mean"), ("largest of all", "max")])
def test_a_picked_cell_opens_itself(opened, kind, over):
    """고양이가 → cat: three steps, three tokens, and the head with the largest weight there."""
    recorded = in_pieces()
    reader = opened(recorded)
    reader.choose("Layer", "2")
    reader.choose("Head", kind)
    pick(reader, 0, 1)
    weights = cross(recorded).weights[:, :3, 1:4]
    cell = weights.sum(axis=2).mean(axis=1)
    head = int(cell.argmax())
    query, key = np.unravel_index(weights[head].argmax(), (3, 3))
    assert reader.page.get_by_label("Head", exact=True).input_value() == str(head)
    assert reader.page.get_by_label("Query", exact=True).input_value() == str(query)
    assert reader.page.get_by_label("Key", exact=True).input_value() == str(key + 1)
    shown = getattr(cross(recorded).weights, over)(0)[:3, 1:4].sum(axis=1).mean()
    said = reader.page.locator("#of-heads").inner_text()
    # The map of the largest is of each token's own largest; the page says the cell's.
    assert said.startswith("고양이가 → cat: the map showed the ")
    if over == "mean":
        assert f"{shown:.3f}" in said
    assert f"Head {head + 1} has the largest weight in this cell, {cell[head]:.3f}." in said
    pieces = reader.page.locator("#panel [id^=piece-]")
    expect(pieces).to_have_count(3)
    for row, text in enumerate(pieces.all_inner_texts()):
        assert text.endswith(f"{weights[head, row].sum():.3f}")
    assert pieces.first.inner_text().startswith("reads <s> → writes ·")
    assert reader.page.locator('tr[aria-current="true"] th').inner_text() == ("·", "c", "at")[key]
    expect(reader.page.locator("tr.marked")).to_have_count(3)


def test_a_picked_cell_of_one_head_opens_that_head(opened):
    recorded = in_pieces()
    reader = opened(recorded)
    reader.choose("Layer", "2")
    reader.choose("Head", "3")
    pick(reader, 1, 0)
    assert reader.page.get_by_label("Head", exact=True).input_value() == "2"
    expect(reader.page.locator("#of-heads")).to_have_count(0)
    query = reader.page.get_by_label("Query", exact=True)
    assert query.locator("option:checked").inner_text() == "3 reads 이가 → writes 뛰었다"


def test_a_step_that_reads_is_the_row_of_the_cell_where_it_is_read_so(opened):
    reader = opened(in_pieces())
    reader.choose("Alignment step", "the step that reads the word")
    pick(reader, 1, 0)
    query = reader.page.get_by_label("Query", exact=True)
    assert query.locator("option:checked").inner_text() == "4 reads 뛰었다 → writes </s>"


def test_what_is_no_word_stands_in_the_last_column(opened):
    """Every row adds up: what went to END is the rest."""
    recorded = trace()
    reader = opened(recorded)
    reader.choose("Show as", "table")
    header, *rows = reader.table()
    assert header[1:] == ["a", "cat", "ran", "rest (</s>)"]
    for row in rows:
        assert sum(float(cell) for cell in row[1:]) == pytest.approx(1, abs=0.003)
    reader.choose("Rows and columns", "tokens")
    assert reader.table()[0][1:] == ["a", "cat", "ran", "</s>"]


def test_a_picked_rest_opens_the_token_that_is_no_word(opened):
    reader = opened(trace())
    pick(reader, 0, 3)
    assert reader.page.get_by_label("Key", exact=True).input_value() == "3"
    assert reader.page.locator('tr[aria-current="true"] th').inner_text() == "</s>"


def test_a_word_of_several_steps_says_of_what_it_is_the_mean(opened):
    reader = opened(in_pieces())
    reader.page.locator("#map").focus()
    reader.page.keyboard.press("Control+Home")
    said = reader.page.locator(".said").inner_text()
    assert said.endswith(
        "; mean of the steps “reads <s> → writes ·”, “reads · → writes 고양”, "
        "“reads 고양 → writes 이가”"
    )


def faint(heads: int = 4) -> Trace:
    """A text that looks at itself: all heads look evenly but the third, a little."""
    names = tuple("abcdefgh")
    scores = np.zeros((heads, 8, 8), dtype=np.float32)
    scores[2] = 1.2 * np.eye(8)[::-1]
    site = Site("encoder.0", "scaled-dot", "encoder", 0, "text", "text", softmax(scores))
    axis = Axis(names, tuple(range(8)), names)
    return Trace("faint", "weights", " ".join(names), "", {"text": axis}, (site,), task="bert")


def test_a_page_opens_on_the_sharpest_head_scaled_to_its_largest_weight(opened):
    recorded = faint()
    reader = opened(recorded)
    assert reader.page.get_by_label("Head", exact=True).input_value() == "2"
    largest = f"{recorded.sites[0].weights[2].max():.3f}"
    expect(reader.page.locator(".legend")).to_contain_text(f"{largest} — attention weight")
    expect(reader.page.locator(".legend")).to_contain_text("ends at the largest weight of this map")
    reader.choose("Scale", "0 to 1")
    expect(reader.page.locator(".legend")).to_contain_text("1 — attention weight. The scale is the")
    assert largest not in reader.page.locator(".legend").inner_text()


@pytest.mark.parametrize("language", ["en-US", "ko-KR"])
@pytest.mark.parametrize("view", ["board", "grid"])
def test_every_map_has_a_bar_of_its_colours_with_numbers(opened, view, language):
    reader = opened(trace(), language)
    reader.page.evaluate(f"location.hash = 'view={view}'")
    text = reader.page.locator("#panel .legend").inner_text()
    assert re.match(r"0\s+(1|0\.\d{3}) — ", text)
    help_text = reader.page.locator("#panel .help").inner_text()
    assert "darker" not in help_text
    assert "진할수록" not in help_text


def test_saved_figures_have_the_bar_too(opened):
    reader = opened(faint())
    with reader.page.expect_download() as found:
        take(reader.page, "save-svg")
    text = Path(found.value.path()).read_text(encoding="utf-8")
    assert f">{faint().sites[0].weights[2].max():.3f}</text>" in text


def luminance(colours: np.ndarray) -> np.ndarray:
    parts = colours[..., :3] / 255
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return linear @ np.array([0.2126, 0.7152, 0.0722])


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_numbers_in_cells_can_be_read_in_both_themes(opened, theme):
    """Contrast of 4.5 and more (WCAG 2.2, 1.4.3) between every number and its cell."""
    image = pytest.importorskip("PIL.Image")
    size = 20
    steps = np.linspace(0.1, 1, size * size, dtype=np.float32).reshape(1, size, size)
    names = tuple(f"w{i}" for i in range(size))
    site = Site("encoder.0", "scaled-dot", "encoder", 0, "text", "text", steps)
    axis = Axis(names, tuple(range(size)), names)
    reader = opened(Trace("t", "weights", "t", "", {"text": axis}, (site,), task="bert"))
    reader.page.emulate_media(color_scheme=theme)
    data = reader.page.evaluate("document.querySelector('#map').toDataURL()")
    png = image.open(io.BytesIO(base64.b64decode(data.split(",")[1]))).convert("RGBA")
    picture = np.asarray(png)
    left, top = picture.shape[1], picture.shape[0] - 8 - size * 34
    row = picture[top + 2 * 34 + 3]
    left = next(x for x in range(14, left) if (row[x : x + 33, 3] == 255).all())
    for r in range(size):
        for c in range(size):
            x, y = left + 34 * c, top + 34 * r
            cell = picture[y + 5 : y + 29, x + 5 : x + 29]
            lights = luminance(cell)
            paper = luminance(picture[y + 3, x + 3])
            ratios = (np.maximum(lights, paper) + 0.05) / (np.minimum(lights, paper) + 0.05)
            # The strokes are thinner than a pixel here and there: the fullest pixel is the ink.
            assert ratios.max() > 4.2, (theme, r, c)


def test_the_cursor_begins_at_the_strongest_cell(opened):
    recorded = trace()
    reader = opened(recorded)
    words = cross(recorded, 0).weights.mean(0)[:2, :3]
    row, column = np.unravel_index(words.argmax(), words.shape)
    said = reader.page.locator(".said").inner_text()
    names = ["고양이가", "뛰었다"][row], ["a", "cat", "ran"][column]
    assert said == f"{names[0]} → {names[1]}: {words.max():.3f}"


def test_the_bar_is_that_of_the_formula_that_was_computed(opened):
    """An additive score is no product that is divided by anything."""
    recorded = trace()
    sites = []
    for site in recorded.sites:
        energy = np.linspace(-1, 1, site.query.shape[2], dtype=np.float32)
        sites.append(replace(site, kind="additive", scale=1.0, energy=energy, allowed=None))
    reader = opened(replace(recorded, sites=tuple(sites)))
    reader.tab("One row, step by step")
    assert "v · tanh(q + k)" in reader.page.locator("#panel .help").inner_text()
    assert "√d" not in reader.page.locator("#panel .help").inner_text()
    assert reader.table()[0][1:3] == ["v · tanh(q + k)", "score"]
    far = [replace(site, kind="far", scale=None) for site in recorded.sites]
    reader = opened(replace(recorded, sites=tuple(far)))
    reader.tab("One row, step by step")
    assert "neither products nor additive (far)" in reader.page.locator("#panel .help").inner_text()
    assert reader.page.locator("#panel table").count() == 0
    plain = replace(recorded, sites=tuple(replace(site, scale=1.0) for site in recorded.sites))
    reader = opened(plain)
    reader.tab("One row, step by step")
    assert "√d" not in reader.page.locator("#panel .help").inner_text()
