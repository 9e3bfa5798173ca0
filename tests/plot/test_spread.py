"""The figure of a sweep's scores."""

import pytest

from jumok.plot.spread import ScoreRow, draw_rows


def test_each_row_has_its_runs_their_mean_and_their_spread():
    rows = [ScoreRow("a", [1.0, 3.0], 2.0, 2**0.5), ScoreRow("b", [1.5], 1.5, None)]
    (axes,) = draw_rows(rows, "validation BLEU").axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["a", "b"]
    assert axes.get_title(loc="left") == "validation BLEU: runs, mean and standard deviation"
    points = [list(line.get_xdata()) for line in axes.lines if line.get_marker() == "o"]
    assert points == [[1.0, 3.0], [1.5]]
    (error,) = (bar for bar in axes.containers if bar.has_xerr)
    (segment,) = error.lines[2][0].get_segments()
    assert list(segment[:, 0]) == pytest.approx([2 - 2**0.5, 2 + 2**0.5])
    assert axes.get_ylim()[0] > axes.get_ylim()[1]  # the first row is at the top
