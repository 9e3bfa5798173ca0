"""The figure of what mattered shows the trace's own numbers."""

import numpy as np
import pytest

import jumok
from jumok import plot
from jumok.errors import ModelError
from jumok.inspection.trace import Trace
from jumok.plot import paper
from jumok.systems.captioner import Captioner
from tests.inspection.traces import found
from tests.systems.pictures import write_captioner, write_noise

pytest.importorskip("matplotlib", reason="needs the extra plot")


@pytest.fixture(autouse=True)
def font(monkeypatch):
    monkeypatch.setattr(paper, "hangul_font", lambda: "DejaVu Sans")


@pytest.fixture(scope="module")
def recorded(tiny_bundle) -> Trace:
    translator = jumok.load(tiny_bundle, device="cpu")
    return jumok.trace(translator, "the cat sat", "개가 짖었다")


def test_bars_are_shares_of_each_measure_and_hollow_below_0(recorded):
    facts = recorded.findings.attribution["words"]
    panels = plot.mattered(recorded, "짖었다").axes[:7]
    for axes, (name, measure) in zip(panels, facts.measures.items(), strict=True):
        left = facts.rest.get(name, {}).get("source")
        values = np.append(measure["source"][1], [] if left is None else left[1])
        lengths = [bar.get_width() for bar in axes.patches]
        np.testing.assert_allclose(lengths, 100 * np.abs(values) / np.abs(values).sum())
        hollow = [bar.get_facecolor()[3] == 0 for bar in axes.patches]
        assert hollow == (values < 0).tolist()
    assert [label.get_text() for label in panels[0].get_yticklabels()] == [
        "the",
        "cat",
        "sat",
        "rest",
    ]
    assert {axes.get_xlim() for axes in panels} == {(0.0, 130.0)}, "one scale"


def test_correlations_and_shares_are_those_of_the_trace(recorded):
    facts = recorded.findings.attribution["pieces"]
    axes = plot.mattered(recorded, 2, unit="pieces").axes
    here, mean, shares = axes[7], axes[8], axes[-1]
    np.testing.assert_allclose(here.images[0].get_array(), facts.ranks[2])
    np.testing.assert_allclose(mean.images[0].get_array(), facts.mean_ranks)
    assert here.images[0].get_clim() == mean.images[0].get_clim() == (0.0, 2.0), (
        "1 is no dark shade"
    )
    heights = [bar.get_height() for bars in shares.containers for bar in bars]
    expected = [100 * share for each in facts.shares.values() for share in each]
    np.testing.assert_allclose(heights, expected)


@pytest.mark.parametrize("word", [2, -1, "dog", "3"])
def test_a_word_that_was_not_written_is_named(recorded, word):
    with pytest.raises(ModelError) as caught:
        plot.mattered(recorded, word)
    assert "the output has no such word" in str(caught.value)
    assert "개가 짖었다, or 1 to 2" in str(caught.value)


def test_a_trace_that_does_not_say_is_refused(recorded):
    with pytest.raises(ModelError, match="contains no attributions"):
        plot.mattered(found(recorded, attribution=None))


def test_maps_of_a_picture_are_shares_on_one_scale(tmp_path):
    captioner = Captioner.load(write_captioner(tmp_path / "model"), device="cpu")
    trace = jumok.trace(captioner, write_noise(tmp_path / "noise.png"), "the cat sat")
    facts = trace.findings.attribution["words"]
    shares = {}
    for name, measure in facts.measures.items():
        values = np.array(measure["picture"])
        shares[name] = values / np.abs(values).sum(axis=1, keepdims=True)
    most = max(np.abs(each).max() for each in shares.values())
    panels = plot.mattered(trace, 1).axes[:8]
    for axes, (name, of_measure) in zip(panels, shares.items(), strict=True):
        _, image = axes.images  # the pale picture, and the map
        expected = np.abs(of_measure[1]).reshape(4, 4)
        np.testing.assert_allclose(image.get_array(), expected, rtol=1e-6)
        assert image.get_clim() == (0.0, pytest.approx(most))
        assert len(axes.patches) == int((of_measure[1] <= -0.005).sum()), name
    title = plot.mattered(trace, 1).axes[-1].get_title(loc="left")
    assert title.startswith("Share of the picture")
