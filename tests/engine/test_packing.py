"""Panels of weights: integers that a bundle stores, and those that the engine makes of floats."""

import numpy as np
import pytest

from jumok.engine.packing import Packed
from jumok.engine.quantising import Quantised, quantised
from jumok.engine.structures import library
from jumok.engine.tensors import Tensors
from jumok.engine.transformer import NativeTransformer
from tests.engine.test_transformer import KINDS, OPTIONS, model_of, rules_of, sources_of

pytestmark = pytest.mark.skipif(library() is None, reason="needs a C compiler")


def packed_both_ways(keys) -> tuple[NativeTransformer, NativeTransformer]:
    """A model whose matrices were quantised: given as floats, and as integers."""
    config, model = model_of(**keys)
    weights = {name: tensor.numpy() for name, tensor in model.state_dict().items()}
    integers: dict[str, Quantised] = {}
    for name, matrix in list(weights.items()):
        if name.endswith(("embedding.table", ".weight")) and matrix.ndim == 2:
            integers[name] = quantised(matrix)
            weights[name] = integers[name].floats()
    if keys.get("tied", "all") != "none":  # stored once
        integers.pop("decoder.output.weight")
        weights.pop("decoder.output.weight")
    given = NativeTransformer(config, Tensors(weights), "int8")
    tables_alone = {
        name: array
        for name, array in weights.items()
        if name not in integers or name.endswith("embedding.table")
    }
    return given, NativeTransformer(config, Tensors(tables_alone, integers), "int8")


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
