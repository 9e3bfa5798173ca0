"""No heading of a figure is printed over another, or leaves its figure."""

from itertools import combinations

import pytest

import jumok
from jumok import plot
from jumok.inspection.trace import Trace
from jumok.plot import paper

pytest.importorskip("matplotlib", reason="needs the extra plot")


@pytest.fixture(autouse=True)
def font(monkeypatch):
    monkeypatch.setattr(paper, "hangul_font", lambda: "DejaVu Sans")


@pytest.fixture(scope="module")
def recorded(tiny_bundle) -> Trace:
    translator = jumok.load(tiny_bundle, device="cpu")
    return jumok.trace(translator, "the cat sat", "개가 짖었다")


@pytest.mark.filterwarnings("ignore:Glyph")  # of the font for Hangul that a machine may lack
@pytest.mark.parametrize("draw", [plot.mattered, plot.row, plot.choices, plot.switches])
def test_headings_have_room(recorded, draw):
    figure = draw(recorded)
    figure.draw_without_rendering()
    titles = [axes._left_title for axes in figure.axes if axes.get_title(loc="left")]
    boxes = [title.get_window_extent() for title in titles]
    assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))
    width = figure.bbox.width
    assert all(box.x0 >= 0 and box.x1 <= width for box in boxes), [
        title.get_text() for title, box in zip(titles, boxes, strict=True) if box.x1 > width
    ]
