"""Maps in a real browser: what a pixel shows is the number, however many cells there are."""

import base64
import io
import re
from pathlib import Path

import numpy as np
import pytest

from jumok.inspection.trace import Axis, Site, Trace
from tests.browser.conftest import take
from tests.inspection.traces import softmax, trace

STOPS = ((253, 253, 251), (202, 214, 240), (130, 152, 216), (62, 78, 192), (24, 28, 92))
"""The light scale, as in web/colours.js: a quarter of it between two stops."""


def colour(value: float) -> list[float]:
    at = np.linspace(0, 1, len(STOPS))
    return [np.interp(value, at, channel) for channel in zip(*STOPS, strict=True)]


def large(tokens: int) -> Trace:
    """One head over this many tokens, with every weight from 0 to 1 in it."""
    names = tuple(f"w{i}" for i in range(tokens))
    axis = Axis(names, tuple(range(tokens)), names)
    weights = softmax(9 * np.random.default_rng(3).normal(size=(1, tokens, tokens)))
    site = Site("encoder.0", "scaled-dot", "encoder", 0, "source", "source", weights)
    return Trace("large", "weights", " ".join(names), "", {"source": axis}, (site,))


def pixels(reader: object) -> np.ndarray:
    """The canvas of the view, as (rows columns rgba)."""
    image = pytest.importorskip("PIL.Image")
    data = reader.page.evaluate("document.querySelector('#panel canvas').toDataURL()")
    png = io.BytesIO(base64.b64decode(data.split(",")[1]))
    return np.asarray(image.open(png).convert("RGBA"))


def cells(picture: np.ndarray, rows: int, columns: int, cell: int) -> np.ndarray:
    """A pixel of each cell: the map ends 8 below its last row, and begins where the paper ends."""
    top = picture.shape[0] - 8 - rows * cell
    row = picture[top + 2 * cell + 1]
    left = next(x for x in range(len(row)) if x > 14 and (row[x : x + cell - 1, 3] == 255).all())
    at = [[left + cell * c + 1 for c in range(columns)]] * rows
    return picture[[[top + cell * r + 1] for r in range(rows)], at][..., :3]


@pytest.mark.parametrize("tokens", [23, 160])
def test_a_pixel_has_the_colour_of_its_weight(opened, tokens):
    recorded = large(tokens)
    reader = opened(recorded)
    reader.choose("Rows and columns", "tokens")
    cell = 34 if tokens == 23 else 6
    reader.page.locator("#map").focus()
    reader.page.keyboard.press("Control+Home")
    shown = cells(pixels(reader), tokens, tokens, cell)[2:, 2:]  # the cursor is at the first
    weights = np.rint(recorded.sites[0].weights[0] * 255)[2:, 2:] / 255
    wanted = np.stack(colour(weights), axis=-1)
    np.testing.assert_allclose(shown, wanted, atol=1)


def test_labels_that_fit_are_drawn_and_no_others(opened):
    reader = opened(large(160))
    reader.choose("Rows and columns", "tokens")
    with reader.page.expect_download() as found:
        take(reader.page, "save-svg")
    text = Path(found.value.path()).read_text(encoding="utf-8")
    labels = re.findall(r">(w\d+)</text>", text)
    assert labels == 2 * [f"w{i}" for i in range(0, 160, 2)]


@pytest.mark.parametrize(
    ("tokens", "shapes", "pictures"), [(23, 23 * 23 + 1 + 96, 0), (160, 1 + 96, 1)]
)
def test_many_cells_are_one_picture_in_a_figure(opened, tokens, shapes, pictures):
    """A hundred thousand rectangles are more than programs that open SVG files can take.

    The colour bar has 32 colours, three rows of cells high.
    """
    reader = opened(large(tokens))
    reader.choose("Rows and columns", "tokens")
    with reader.page.expect_download() as found:
        take(reader.page, "save-svg")
    text = Path(found.value.path()).read_text(encoding="utf-8")
    assert (text.count("<rect"), text.count("<image")) == (shapes, pictures)


def test_moving_the_cursor_leaves_no_trail(opened):
    reader = opened(trace())
    reader.page.locator("#map").focus()
    reader.page.keyboard.press("Home")
    before = pixels(reader)
    reader.page.keyboard.press("ArrowRight")
    assert (pixels(reader) != before).any()
    reader.page.keyboard.press("ArrowLeft")
    np.testing.assert_array_equal(pixels(reader), before)


def test_measures_of_all_heads_come_when_their_table_is_opened(opened):
    recorded = trace()
    reader = opened(recorded)
    assert reader.page.locator("details table").count() == 0
    reader.page.locator("#panel details:not(#more, #use) > summary").first.click()
    cross = [site for site in recorded.sites if site.part == "cross"]
    weights = np.concatenate([site.weights for site in cross])
    entropy = -(weights * np.log(weights)).sum(-1).mean(-1)
    rows = reader.table()[1:]
    assert [row[0] for row in rows] == ["1.1", "1.2", "1.3", "2.1", "2.2", "2.3"]
    np.testing.assert_allclose([float(row[1]) for row in rows], entropy, atol=0.0006)
