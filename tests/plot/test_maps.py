"""Figures by what they are made of: numbers, words, one scale; never by their pixels."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from jumok import plot
from jumok.alignment.setting import AlignmentSetting
from jumok.errors import ModelError
from jumok.evaluation.alignment import parse_gold, with_gold
from jumok.inspection.page.picture import TracePicture
from jumok.inspection.trace import Step, grid_axis
from jumok.plot import paper
from tests.inspection.traces import HOSTILE, found, trace

pytest.importorskip("matplotlib", reason="needs the extra plot")
pytest.importorskip("PIL.Image", reason="needs the package pillow")
# These tests say that no font has Hangul to be independent of the machine's; matplotlib warns.
pytestmark = pytest.mark.filterwarnings("ignore:Glyph")


@pytest.fixture(autouse=True)
def font(monkeypatch):
    """Whatever fonts the machine has: which letters they have is not what is tested here."""
    monkeypatch.setattr(paper, "hangul_font", lambda: "DejaVu Sans")


def maps(figure):
    """The images of the figure, its bar left out."""
    return [axes.images[0] for axes in figure.axes if axes.images]


def ticks(axis) -> list[str]:
    return [label.get_text() for label in axis.get_ticklabels()]


def cross(recorded, layer: int = 0):
    return [site for site in recorded.sites if site.part == "cross"][layer]


def test_alignment_draws_the_numbers_of_the_trace():
    recorded = trace()
    figure = plot.alignment(recorded, layer=1, head=2, reading="reads")
    (image,) = maps(figure)
    np.testing.assert_allclose(image.get_array(), cross(recorded, 1).weights[2, 1:, :3], atol=1e-6)
    axes = image.axes
    assert (ticks(axes.xaxis), ticks(axes.yaxis)) == (["a", "cat", "ran"], ["고양이가", "뛰었다"])
    assert axes.get_title(loc="left") == "cross-attention (target → source), layer 2, head 3"
    weights = cross(recorded, 1).weights[2, 1:, :3]
    numbers = [text.get_text() for text in axes.texts]
    assert numbers == [f"{round(100 * float(w))}" for w in weights.flat if w >= 0.1]


def test_long_texts_are_drawn_whole_with_as_many_words_as_fit():
    words = tuple(f"w{i}" for i in range(401))
    recorded = trace(source=words, target=("a",), layers=1, heads=1)
    figure = plot.head(recorded, part="encoder")
    (image,) = maps(figure)
    assert image.get_array().shape == (402, 402)
    assert ticks(image.axes.xaxis)[:3] == ["w0", "w5", "w10"]
    assert max(figure.get_size_inches()) < 20


def test_the_head_is_the_one_that_alignments_are_read_from():
    recorded = trace()
    read = found(recorded, setting=AlignmentSetting(1, at_input=False, head=2))

    def drawn(**asked):
        (image,) = maps(plot.alignment(read, **asked))
        return image.get_array()

    np.testing.assert_array_equal(drawn(), drawn(layer=1, head=2))
    assert not np.array_equal(drawn(), drawn(head="mean"))
    np.testing.assert_array_equal(drawn(layer=0), drawn(layer=0, head="mean"))
    np.testing.assert_array_equal(drawn(part="encoder"), drawn(part="encoder", head="mean"))


def test_gold_links_are_framed():
    figure = plot.alignment(trace(), gold=[(2, 1)])
    (frame,) = maps(figure)[0].axes.patches
    assert frame.get_center() == pytest.approx((2, 1))


def test_gold_links_that_a_trace_brings_along_are_framed_and_possible_ones_dashed():
    recorded = with_gold(trace(), parse_gold("0-0 2p1"))
    sure, possible = maps(plot.alignment(recorded))[0].axes.patches
    assert (sure.get_center(), sure.get_linestyle()) == (pytest.approx((0, 0)), "-")
    assert (possible.get_center(), possible.get_linestyle()) == (pytest.approx((2, 1)), "--")
    for other in ({"unit": "pieces"}, {"part": "encoder"}, {"gold": ()}):
        assert not maps(plot.alignment(recorded, **other))[0].axes.patches


def test_a_head_is_drawn_piece_by_piece():
    recorded = trace()
    (image,) = maps(plot.head(recorded, layer=0, head=1))
    np.testing.assert_array_equal(image.get_array(), cross(recorded).weights[1])
    assert ticks(image.axes.yaxis) == ["<s>", "고양이가", "뛰었다"]
    assert ticks(image.axes.xaxis) == ["a", "cat", "ran", "</s>"]


def test_all_heads_have_one_scale_and_one_bar():
    recorded = trace()
    figure = plot.grid(recorded, part="encoder")
    images = maps(figure)
    assert [image.axes.get_title() for image in images] == [
        *("1.1", "1.2", "1.3"),
        *("2.1", "2.2", "2.3"),
    ]
    assert {image.get_clim() for image in images} == {(0.0, 1.0)}
    second = next(site for site in recorded.sites if site.name == "encoder.1")
    np.testing.assert_array_equal(images[5].get_array(), second.weights[2])
    assert len(figure.axes) == len(images) + 1, "one bar for all"


@pytest.mark.parametrize("draw", [plot.alignment, plot.head])
def test_every_map_has_the_scale_of_weights(draw):
    (image,) = maps(draw(trace()))
    assert image.get_clim() == (0.0, 1.0)


def test_colours_are_those_of_the_page():
    colours = paper.colours()
    assert paper.stops()[0] == (253, 253, 251)
    for place, stop in enumerate(paper.stops()):
        shade = np.array(colours(place / 4)[:3]) * 255
        np.testing.assert_allclose(shade, stop, atol=0.51)
    middle = np.mean([paper.stops()[1], paper.stops()[2]], axis=0)
    np.testing.assert_allclose(np.array(colours(0.375)[:3]) * 255, middle, atol=0.51)


def captioned(tokens: tuple[str, ...] = ("a", "cat")):
    """A picture of 6 x 4 pixels in 2 x 3 cells, and a token for each row of weights."""
    weights = np.array([[[0.1, 0.1, 0.2, 0.3, 0.2, 0.1], [0.0, 0.0, 0.0, 0.6, 0.4, 0.0]]])
    recorded = trace(layers=1, heads=1)
    axes = recorded.axes | {"picture": grid_axis(2, 3)}
    site = replace(cross(recorded), keys="picture", weights=weights.astype(np.float32))
    pixels = np.arange(72, dtype=np.uint8).reshape(4, 6, 3)
    return replace(
        recorded,
        sites=(site,),
        axes=axes,
        picture=TracePicture.of(pixels),
        steps=tuple(Step(token, -0.5, ()) for token in tokens),
    ), pixels


def test_pictures_of_all_words_have_one_scale():
    recorded, pixels = captioned()
    figure = plot.pictures(recorded)
    whole, *panels = [axes for axes in figure.axes if axes.images][:3]
    np.testing.assert_array_equal(whole.images[0].get_array(), pixels)
    assert [axes.get_title() for axes in panels] == ["a", "cat"]
    for axes, row in zip(panels, recorded.sites[0].weights[0], strict=True):
        np.testing.assert_array_equal(axes.images[1].get_array(), row.reshape(2, 3))
        assert axes.images[1].get_clim() == pytest.approx((0.0, 0.6)), "the largest of all steps"
        assert axes.images[0].get_extent() == axes.images[1].get_extent()


def test_a_text_has_no_pictures():
    with pytest.raises(ModelError, match="this trace has no image"):
        plot.pictures(trace())


def test_svg_has_the_words_as_text(tmp_path: Path):
    file = tmp_path / "figure.svg"
    plot.save(plot.alignment(trace()), file)
    text = file.read_text("utf-8")
    assert ">고양이가</text>" in text
    assert file.read_bytes() == (plot.save(plot.alignment(trace()), file), file.read_bytes())[1]


def test_words_are_text_whatever_they_say(tmp_path: Path):
    file = tmp_path / "figure.svg"
    plot.save(plot.alignment(trace(source=HOSTILE, target=("$x^2$", "a_b$"))), file)
    text = file.read_text("utf-8")
    assert "<script" not in text
    assert "&lt;img src=x" in text
    assert ">$x^2$</text>" in text, "no formula"


@pytest.mark.parametrize(("suffix", "start"), [("pdf", b"%PDF"), ("png", b"\x89PNG")])
def test_figures_are_written_as_what_they_are_called(tmp_path: Path, suffix: str, start: bytes):
    file = tmp_path / f"figure.{suffix}"
    plot.save(plot.head(trace()), file)
    assert file.read_bytes().startswith(start)


def test_a_map_may_end_its_scale_at_its_largest_weight():
    recorded = trace()
    figure = plot.alignment(recorded, head="mean", reading="reads", scale="largest", rest=True)
    (image,) = maps(figure)
    mean = cross(recorded).weights.mean(axis=0)[1:]
    np.testing.assert_allclose(image.get_array(), mean, atol=1e-6)
    assert ticks(image.axes.xaxis) == ["a", "cat", "ran", "rest"]
    assert image.get_clim() == (0, pytest.approx(mean[:, :3].max())), "the rest has no say"


def test_the_rest_of_a_row_has_what_its_sink_takes():
    recorded = trace()
    halved = [
        replace(site, weights=site.weights / 2, sink=np.zeros(3, np.float32))
        for site in recorded.sites
    ]
    figure = plot.alignment(
        replace(recorded, sites=tuple(halved)), head=1, unit="pieces", rest=True
    )
    (image,) = maps(figure)
    np.testing.assert_allclose(image.get_array().sum(axis=1), 1, atol=1e-6)
    np.testing.assert_allclose(image.get_array()[:, -1], 0.5, atol=1e-6)


def test_all_heads_may_share_a_smaller_scale():
    recorded = trace()
    figure = plot.grid(recorded, part="cross", scale="largest")
    most = max(site.weights.max() for site in recorded.sites if site.part == "cross")
    np.testing.assert_allclose([image.get_clim() for image in maps(figure)[:6]], [(0, most)] * 6)
