"""Position encodings as figures, against the formulas of the papers."""

from dataclasses import replace
from math import cos, sin

import numpy as np
import pytest
import torch

from jumok import plot
from jumok.config import TransformerConfig
from jumok.errors import ModelError
from jumok.inspection.findings import LayerFindings, TraceFindings
from jumok.inspection.position_encodings import position_facts
from jumok.inspection.trace import Trace
from jumok.models.catalog import DataSizes, build
from tests.inspection.traces import trace

pytest.importorskip("matplotlib", reason="needs the extra plot")


def of(kind: str, **more: object) -> Trace:
    """A trace with the encodings of a small model: 12 dimensions, 3 heads."""
    torch.manual_seed(5)
    sizes = TransformerConfig.model_validate(
        {
            "dim": 12,
            "heads": 3,
            "encoder_layers": 1,
            "decoder_layers": 1,
            "feedforward": 17,
            "max_length": 19,
            "positions": kind,
            **more,
        }
    )
    places = position_facts(build(sizes, DataSizes(vocabulary=23)))
    return replace(trace(), findings=TraceFindings(layers=LayerFindings(positions=places)))


def test_the_waves_of_the_paper_are_drawn_with_their_cosine_by_distance():
    image, curve, _ = plot.positions(of("sinusoidal")).axes
    expected = [
        [(sin, cos)[dim % 2](place / 10000 ** (dim // 2 * 2 / 12)) for dim in range(12)]
        for place in range(64)
    ]
    np.testing.assert_allclose(image.images[0].get_array(), expected, atol=1e-4)
    assert image.images[0].get_clim() == (-1, 1)
    (line,) = curve.lines
    by_hand = [np.mean([cos(far / 10000 ** (pair / 6)) for pair in range(6)]) for far in range(64)]
    np.testing.assert_allclose(line.get_ydata(), by_hand, atol=1e-4)
    assert curve.get_title(loc="left") == "cosine of the vectors of two positions"


def test_alibi_has_a_curve_for_each_head():
    """Slopes 2^(-8i/n) for n heads, a power of two (Press et al. 2022)."""
    figure = plot.positions(of("alibi", heads=2))
    curve = figure.axes[1]
    for line, slope in zip(curve.lines, (2**-4, 2**-8), strict=True):
        np.testing.assert_allclose(line.get_ydata(), np.exp(-slope * np.arange(64)), atol=1e-4)
    assert [text.get_text() for text in curve.get_legend().get_texts()] == ["head 1", "head 2"]


def test_rotary_angles_are_drawn_by_distance():
    figure = plot.positions(of("rotary"))
    image, curve, _ = figure.axes
    angles = [[cos(far / 10000 ** (pair / 2)) for pair in range(2)] for far in range(64)]
    np.testing.assert_allclose(image.images[0].get_array(), angles, atol=1e-4)
    np.testing.assert_allclose(curve.lines[0].get_ydata(), np.mean(angles, axis=1), atol=1e-4)
    assert (image.get_ylabel(), image.get_xlabel()) == ("distance", "pair of dimensions")


def test_learned_tables_have_a_scale_and_a_range_of_their_own():
    learned = of("learned")
    image, curve, _ = plot.positions(learned, "decoder").axes
    table = np.array(learned.findings.layers.positions["decoder"].picture)
    assert image.images[0].get_clim() == pytest.approx((-np.abs(table).max(), np.abs(table).max()))
    (band,) = curve.collections
    units = table / np.linalg.norm(table, axis=1, keepdims=True)
    least = [np.diag(units @ units.T, far).min() for far in range(19)]
    low = [band.get_paths()[0].vertices[:, 1][band.get_paths()[0].vertices[:, 0] == far].min()
           for far in range(19)]  # fmt: skip
    np.testing.assert_allclose(low, least, atol=1e-3)


def test_a_stack_with_the_encoding_of_another_is_drawn_by_its_own_name():
    title = plot.positions(of("sinusoidal"), "decoder").get_suptitle()
    assert title == "position encoding of the decoder: sinusoidal"


@pytest.mark.parametrize(
    ("recorded", "stack", "said"),
    [
        (trace(), None, "this trace contains no position encodings"),
        (of("none"), None, "got:      encoder: none, decoder: none"),
        (of("learned"), "cross", "expected: encoder or decoder"),
    ],
)
def test_what_cannot_be_drawn_is_said(recorded: Trace, stack: str | None, said: str) -> None:
    with pytest.raises(ModelError) as caught:
        plot.positions(recorded, stack)
    assert said in str(caught.value)
