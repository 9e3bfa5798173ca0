"""Panels of weights: integers that a bundle stores, and those that the engine makes of floats."""

import numpy as np
import pytest

from jumok.bundle.quantised import can_group
from jumok.config.transformer import TransformerConfig
from jumok.data.tokenizer import END, START
from jumok.engine.packing import Packed, Weights
from jumok.engine.quantising import Quantised, quantised
from jumok.engine.structures import library
from jumok.engine.transformer import NativeTransformer
from tests.engine.test_transformer import KINDS, OPTIONS, model_of, rules_of, sources_of

Integers = dict[str, Quantised]

pytestmark = pytest.mark.skipif(library() is None, reason="needs a C compiler")


def matrices_as_integers(keys, *, grouped: bool) -> tuple[TransformerConfig, Weights, Integers]:
    """A model whose matrices were quantised: its weights, and the matrices as integers."""
    config, model = model_of(**keys)
    weights = {name: tensor.numpy() for name, tensor in model.state_dict().items()}
    integers: Integers = {}
    for name, matrix in list(weights.items()):
        if name.endswith(("embedding.table", ".weight")) and matrix.ndim == 2:
            integers[name] = quantised(matrix, grouped=grouped)
            weights[name] = integers[name].floats()
    if keys.get("tied", "all") != "none":  # stored once
        integers.pop("decoder.output.weight")
        weights.pop("decoder.output.weight")
    return config, weights, integers


def packed_both_ways(keys) -> tuple[NativeTransformer, NativeTransformer]:
    """A model whose matrices were quantised: given as floats, and as integers."""
    config, weights, integers = matrices_as_integers(keys, grouped=False)
    given = NativeTransformer(config, weights, "int8")
    return given, NativeTransformer(config, tables_alone(weights, integers), "int8", integers)


def tables_alone(weights: Weights, integers: Integers) -> Weights:
    return {
        name: array
        for name, array in weights.items()
        if name not in integers or name.endswith("embedding.table")
    }


GROUPABLE: dict[str, dict[str, object]] = {
    "post": {"norm": "post"},
    "gated, of its own output": {"feedforward_kind": "gated", "tied": "none", "norm": "pre"},
    "heads in groups": {"kv_heads": 2, "positions": "rotary", "heads": 6},
}


@pytest.mark.parametrize("keys", GROUPABLE.values(), ids=GROUPABLE)
def test_groups_compute_what_their_floats_do(keys):
    """Up to the rounding of inputs to 16 bits; one row and many."""
    sizes = {"dim": 96, "heads": 3, "feedforward": 160}
    config, weights, integers = matrices_as_integers(sizes | keys, grouped=True)
    assert can_group(config)
    whole = NativeTransformer(config, weights, "fp32")
    small = NativeTransformer(config, tables_alone(weights, integers), "int8", integers)
    sources = sources_of(7, 1, 19, 4, 11)
    targets = [each[:-1] for each in sources_of(3, 12, 1, 30, 8)]
    found = (each.force(sources, targets, (START, END)) for each in (whole, small))
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one.log_probabilities, other.log_probabilities, atol=1e-2)


def test_an_answer_in_groups_does_not_depend_on_what_shares_its_batch():
    keys = {"dim": 96, "heads": 3, "feedforward": 160}
    config, weights, integers = matrices_as_integers(keys, grouped=True)
    engine = NativeTransformer(config, tables_alone(weights, integers), "int8", integers)
    sources = sources_of(7, 1, 19, 4, 11)
    together = engine.search(sources, rules_of(OPTIONS["beam"], sources))
    for row, source in enumerate(sources):
        rules = rules_of(OPTIONS["beam"], [source])
        assert engine.search([source], rules) == together[row : row + 1]


@pytest.mark.parametrize("grouped", [False, True])
def test_packed_integers_are_read_again(grouped):
    matrix = np.random.default_rng(2).normal(size=(70, 96)).astype(np.float32)
    stored, packed = quantised(matrix, grouped=grouped), Packed("int8")
    np.testing.assert_array_equal(packed.floats(packed.matrix(stored)), stored.floats())


@pytest.mark.parametrize("keys", KINDS.values(), ids=KINDS)
def test_stored_integers_are_what_the_engine_makes_of_their_floats(keys):
    made, stored = packed_both_ways(keys)
    same(made.packed.arrays, stored.packed.arrays)
    sources = sources_of(7, 1, 19, 4)
    for options in (OPTIONS["greedy"], OPTIONS["beam"]):
        rules = rules_of(options, sources)
        assert made.search(sources, rules) == stored.search(sources, rules)


def test_integers_are_floats_for_other_kinds():
    matrix = np.random.default_rng(1).normal(size=(70, 32)).astype(np.float32)
    stored = quantised(matrix)
    for kind in ("fp32", "bf16"):
        first, second = Packed(kind), Packed(kind)
        first.matrix(stored)
        second.matrix(stored.floats())
        same(first, second)


def same(first: Packed, second: Packed) -> None:
    """Both have the same arrays, made in the same order."""
    assert len(first.arrays) == len(second.arrays)
    for one, other in zip(first.arrays.values(), second.arrays.values(), strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)


def test_a_panel_by_hand():
    """(outputs / 64, inputs / 4, 64, 4): the integers, scales and sums of two rows."""
    packed = Packed("int8")
    layout = packed.matrix(np.array([[127, -3, 5, 9] * 2, [-254, 4, 0, 2] * 2], np.float32))
    places = layout.panels, layout.bias, layout.scale, layout.correction
    panels, biases, scales, sums = (packed.arrays[place] for place in places)
    assert (layout.outputs, layout.inputs) == (2, 8)
    assert panels.reshape(2, 64, 4)[:, :2].tolist() == [
        [[127, -3, 5, 9], [-127, 2, 0, 1]],
        [[127, -3, 5, 9], [-127, 2, 0, 1]],
    ]
    assert not panels.reshape(2, 64, 4)[:, 2:].any()
    assert scales[:3].tolist() == [1, 2, 0]
    assert sums[:3].tolist() == [128 * 2 * 138, 128 * 2 * -124, 0]
    assert not biases.any()
