"""SVG that is well-formed, safe and true to the figures."""

import re
from xml.etree import ElementTree

import pytest
import torch

from jumok.cli.report.plots import Line, attention_grid, chart, ticks

EVIL = "</svg><script>alert(1)</script>"


def parse(svg: str) -> ElementTree.Element:
    return ElementTree.fromstring(svg)


def test_a_grid_shades_each_cell_by_its_weight():
    weights = torch.tensor([[0.25, 0.75, 0.0], [0.0, 0.0, 1.0]])
    svg = parse(attention_grid(weights, ["I", "read", "books"], ["저는", "책을"]))
    heat = [cell.get("fill-opacity") for cell in svg.iter("rect") if cell.get("class") == "heat"]
    assert heat == ["0.250", "0.750", "0.000", "0.000", "0.000", "1.000"]
    titles = [title.text for title in svg.iter("title")]
    assert titles[1] == "저는 → read: 0.75"


def test_a_grid_frames_the_right_links():
    weights = torch.tensor([[0.5, 0.5]])
    svg = parse(attention_grid(weights, ["a", "b"], ["c"], gold=[(1, 0)]))
    cells = [c.get("class") for c in svg.iter("rect") if c.get("class", "").startswith("empty")]
    assert cells == ["empty", "empty right"]


def test_percentages_are_written_where_they_matter():
    svg = attention_grid(torch.tensor([[0.05, 0.95]]), ["a", "b"], ["c"])
    assert re.findall(r">(\d+)</text>", svg) == ["95"]


def test_words_are_text_whatever_they_say():
    svg = attention_grid(torch.tensor([[1.0]]), [EVIL], [EVIL])
    assert "<script" not in svg
    assert EVIL in [text.text for text in parse(svg).iter("text")]


def test_a_chart_puts_higher_values_higher():
    svg = parse(
        chart([Line("BLEU", [(0.0, 0.0), (10.0, 50.0), (20.0, 100.0)], dots=True)], "BLEU", "step")
    )
    heights = [float(dot.get("cy")) for dot in svg.iter("circle")]
    assert heights[0] > heights[1] > heights[2]
    assert heights[0] - heights[1] == pytest.approx(heights[1] - heights[2])


def test_a_chart_escapes_names():
    assert "<script" not in chart([Line(EVIL, [(0.0, 1.0), (1.0, 2.0)])], EVIL, "step")


def test_a_chart_of_one_point_can_be_drawn():
    for value in (0.0, 3.0):
        assert parse(chart([Line("loss", [(0.0, value)])], "loss", "step")).tag.endswith("svg")


def test_a_chart_of_nothing_is_nothing():
    assert chart([Line("loss", [])], "loss", "step") == ""


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.0, 100.0, [0, 20, 40, 60, 80, 100]),
        (0.0, 9.3, [0, 2, 4, 6, 8, 10]),
        (0.013, 0.042, [0.01, 0.02, 0.03, 0.04, 0.05]),
        (6.2, 7.9, [6, 6.5, 7, 7.5, 8]),
    ],
)
def test_ticks_are_round_numbers_around_the_values(low, high, expected):
    assert ticks(low, high) == pytest.approx(expected)
