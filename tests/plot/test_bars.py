"""Bars as long as the numbers of the trace."""

from dataclasses import replace
from math import exp

import numpy as np
import pytest

from jumok import plot
from jumok.errors import ModelError
from jumok.plot import paper
from tests.inspection.traces import found, trace

pytest.importorskip("matplotlib", reason="needs the extra plot")


@pytest.fixture(autouse=True)
def font(monkeypatch):
    monkeypatch.setattr(paper, "hangul_font", lambda: "DejaVu Sans")


def lengths(axes) -> list[float]:
    return [bar.get_width() for bar in axes.patches]


def test_a_row_adds_up_when_redone_from_what_is_drawn():
    recorded = trace()
    site = next(site for site in recorded.sites if site.name == "cross.1")
    scores, weights, given = plot.row(recorded, 2, layer=1, head=1).axes
    drawn = np.array(lengths(scores))
    np.testing.assert_allclose(lengths(weights), np.exp(drawn) / np.exp(drawn).sum(), atol=1e-6)
    np.testing.assert_allclose(lengths(weights), site.weights[1, 2], atol=1e-6)
    norms = np.linalg.norm(site.value[1], axis=1) * site.weights[1, 2]
    np.testing.assert_allclose(lengths(given), norms, atol=1e-5)
    assert [label.get_text() for label in scores.get_yticklabels()] == ["a", "cat", "ran", "</s>"]


def test_what_the_mask_hides_is_said():
    decoder = plot.row(trace(), 0, part="decoder").axes[0]
    hidden = [text for text in decoder.texts if "hidden" in text.get_text()]
    mask = next(site for site in trace().sites if site.part == "decoder").allowed
    assert len(hidden) == (0 if mask is None else 2)


def test_switches_are_the_sums_over_the_tokens():
    recorded = trace(layers=1, heads=2)
    crossed, own = np.array([[-0.5, -0.25], [0.125, 0.0]]), np.array([[1.0], [2.0]])
    ablated = found(recorded, ablation={"cross.0": crossed, "encoder.0": own})
    (axes,) = plot.switches(ablated).axes
    assert lengths(axes) == [-0.75, 0.125, 1.0, 2.0]
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert names[0] == "cross-attention (target → source) 1.1"
    assert names[-1] == "encoder self-attention (source → source) 1.2"


def test_choices_are_probabilities_and_the_written_one_is_dark():
    figure = plot.choices(trace())
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles[:3] == ["1. 고양이가", "2. 뛰었다", "3. </s>"]
    first = figure.axes[0]
    assert lengths(first) == pytest.approx([100 * exp(-0.5), 100 * exp(-1.5)])
    dark, pale = (bar.get_facecolor()[:3] for bar in first.patches)
    assert sum(dark) < sum(pale)
    assert {axes.get_xlim() for axes in figure.axes[:3]} == {(0.0, 130.0)}


def test_what_cannot_be_drawn_is_said():
    recorded = trace()
    with pytest.raises(ModelError, match=r"no such row\.\n  expected: 1 to 3\n  got:      8"):
        plot.row(recorded, 7)
    with pytest.raises(ModelError, match="contains no head-ablation results"):
        plot.switches(found(recorded, ablation=None))
    with pytest.raises(ModelError, match="nothing was written"):
        plot.choices(replace(recorded, steps=()))
    bare = [replace(site, query=None, key=None, value=None) for site in recorded.sites]
    with pytest.raises(ModelError, match="jumok look --level qk"):
        plot.row(replace(recorded, sites=tuple(bare)))
