"""Positions as they are shown, against the papers' formulas."""

import math

import numpy as np
import pytest
import torch

from jumok.config import TransformerConfig
from jumok.inspection.findings import StackPositions
from jumok.inspection.position_encodings import position_facts
from jumok.models.catalog import DataSizes, build


def model(positions, **more):
    torch.manual_seed(5)
    sizes = TransformerConfig(
        dim=12,
        heads=2,
        encoder_layers=1,
        decoder_layers=1,
        feedforward=17,
        max_length=19,
        positions=positions,
        **more,
    )
    return build(sizes, DataSizes(vocabulary=23))


def test_waves_are_those_of_the_paper():
    facts = position_facts(model("sinusoidal"))
    assert facts["decoder"] == StackPositions("sinusoidal", same="encoder")
    shown = facts["encoder"]
    expected = [
        [(math.sin, math.cos)[dim % 2](place / 10000 ** (dim // 2 * 2 / 12)) for dim in range(12)]
        for place in range(64)
    ]
    np.testing.assert_allclose(shown.picture, expected, atol=1e-4)
    # sin a sin b + cos a cos b = cos(a - b): the distance alone counts
    curve = [
        np.mean([math.cos(distance / 10000 ** (2 * pair / 12)) for pair in range(6)])
        for distance in range(64)
    ]
    for name in ("mean", "least", "largest"):
        np.testing.assert_allclose(shown.curves[name], curve, atol=1e-4)


def test_learned_positions_are_the_tables_own():
    learned = model("learned")
    facts = position_facts(learned)
    assert facts["decoder"].same is None, "each stack has its own"
    table = learned.encoder.embedding.positions.encoding.table.detach().numpy()
    np.testing.assert_allclose(facts["encoder"].picture, table, atol=1e-4)
    units = table / np.linalg.norm(table, axis=1, keepdims=True)
    by_hand = [np.diag(units @ units.T, offset) for offset in range(19)]
    curves = facts["encoder"].curves
    np.testing.assert_allclose(curves["mean"], [each.mean() for each in by_hand], atol=1e-4)
    np.testing.assert_allclose(curves["least"], [each.min() for each in by_hand], atol=1e-4)


def test_rotary_positions_turn_each_pair_by_its_own_angle():
    facts = position_facts(model("rotary"))["encoder"]
    expected = [
        [math.cos(distance / 10000 ** (2 * pair / 6)) for pair in range(3)]
        for distance in range(64)
    ]
    assert (facts.kind, facts.rows) == ("rotary", "distance")
    np.testing.assert_allclose(facts.picture, expected, atol=1e-4)
    np.testing.assert_allclose(facts.curves["mean"], np.mean(expected, axis=1), atol=1e-4)


def test_what_alibi_leaves_of_a_weight():
    """Two heads: slopes 2^-4 and 2^-8."""
    facts = position_facts(model("alibi"))["encoder"]
    for head, slope in (("head 1", 2**-4), ("head 2", 2**-8)):
        expected = [math.exp(-slope * distance) for distance in range(64)]
        np.testing.assert_allclose(facts.curves[head], expected, atol=1e-4)


@pytest.mark.parametrize("kind", ["index", "fraction", "binary"])
def test_the_encodings_of_the_lecture_are_shown_as_they_are(kind):
    encoding = model(kind).encoder.embedding.positions.encoding
    picture = np.array(position_facts(model(kind))["encoder"].picture)
    length = len(picture)
    assert length == (32 if kind == "binary" else 64)
    lengths = (torch.tensor([length]),) if kind == "fraction" else ()
    found = encoding(0, length, *lengths)
    np.testing.assert_allclose(picture, found.reshape(length, -1), atol=1e-4)


def test_a_model_without_positions_says_so():
    assert position_facts(model("none"))["encoder"] == StackPositions("none")


def test_concatenated_positions_are_shown_before_they_are_joined():
    shown = position_facts(model("sinusoidal", positions_join="concatenate"))["encoder"]
    np.testing.assert_allclose(shown.picture[0], [0, 1] * 6, atol=1e-6)
