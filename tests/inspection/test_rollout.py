"""Rollout and flow by hand, along all paths, and against all cuts."""

from itertools import product

import numpy as np
import pytest

from jumok.inspection.rollout import (
    LayerWeights,
    decoder_flow,
    decoder_rollout,
    encoder_rollout,
)
from tests.inspection.traces import softmax, trace


def rows(*numbers: list[float]) -> np.ndarray:
    return np.array(numbers, dtype=np.float64)


FIRST = rows([0.25, 0.75], [1.0, 0.0])
SECOND = rows([0.0, 1.0], [0.5, 0.5])


def test_rollout_of_two_layers_is_that_by_hand():
    """(FIRST + I) / 2 = [.625 .375; .5 .5], (SECOND + I) / 2 = [.5 .5; .25 .75]: their product."""
    expected = rows([0.5625, 0.4375], [0.53125, 0.46875])
    np.testing.assert_allclose(encoder_rollout([FIRST, SECOND], 2), expected)
    np.testing.assert_allclose(encoder_rollout([], 2), np.eye(2))


def test_rollout_of_a_decoder_is_that_by_hand():
    """One layer, two words read and two written; the encoder has the one layer FIRST.

    Self: [1 0; .5 .5], so half of position 1 and half of itself is [.25 .75]. Cross: half of that,
    and half of the Memory [.625 .375; .5 .5] as [.2 .8] and [1 0] look at it.
    """
    layers = LayerWeights((FIRST,), (rows([1, 0], [0.5, 0.5]),), (rows([0.2, 0.8], [1, 0]),))
    read, known = decoder_rollout(layers)
    np.testing.assert_allclose(known, rows([0.5, 0], [0.125, 0.375]))
    np.testing.assert_allclose(read, rows([0.2625, 0.2375], [0.3125, 0.1875]))


def layers(depth: int, source: int, target: int, seed: int) -> LayerWeights:
    random = np.random.default_rng(seed)

    def weights(queries: int, keys: int) -> np.ndarray:
        return softmax(random.normal(size=(queries, keys)) * 2).astype(np.float64)

    causal = [np.tril(weights(target, target)) for _ in range(depth)]
    return LayerWeights(
        tuple(weights(source, source) for _ in range(depth)),
        tuple(each / each.sum(axis=1, keepdims=True) for each in causal),
        tuple(weights(target, source) for _ in range(depth)),
    )


def edges_of(layers: LayerWeights) -> dict[tuple, dict[tuple, float]]:
    """The network written out node by node: (part, level, position) -> (node below) -> weight."""
    below: dict[tuple, dict[tuple, float]] = {}

    def add(node: tuple, other: tuple, weight: float) -> None:
        of_node = below.setdefault(node, {})
        of_node[other] = of_node.get(other, 0.0) + weight / 2

    for level, weights in enumerate(layers.encoder):
        for i, row in enumerate(weights):
            add(("source", level + 1, i), ("source", level, i), 1.0)
            for j, weight in enumerate(row):
                add(("source", level + 1, i), ("source", level, j), weight)
    top = len(layers.encoder)
    for layer, (own, cross) in enumerate(zip(layers.decoder, layers.cross, strict=True)):
        for i in range(len(own)):
            between, above = ("target", 2 * layer + 1, i), ("target", 2 * layer + 2, i)
            add(between, ("target", 2 * layer, i), 1.0)
            add(above, between, 1.0)
            for j, weight in enumerate(own[i]):
                add(between, ("target", 2 * layer, j), weight)
            for j, weight in enumerate(cross[i]):
                add(above, ("source", top, j), weight)
    return below


def test_rollout_is_the_sum_over_all_paths_of_their_weights_multiplied():
    made = layers(depth=2, source=3, target=2, seed=3)
    below = edges_of(made)

    def along_paths(node: tuple, wanted: tuple) -> float:
        if node == wanted:
            return 1.0
        return sum(w * along_paths(other, wanted) for other, w in below.get(node, {}).items())

    read, known = decoder_rollout(made)
    for t in range(2):
        for j in range(3):
            assert read[t, j] == pytest.approx(along_paths(("target", 4, t), ("source", 0, j)))
        for j in range(2):
            assert known[t, j] == pytest.approx(along_paths(("target", 4, t), ("target", 0, j)))


def test_flow_is_the_smallest_cut():
    """Of all ways to part the network in two, with the position here and the word there."""
    made = layers(depth=1, source=2, target=2, seed=5)
    below = edges_of(made)
    nodes = {*below, *(other for others in below.values() for other in others)}
    read, known = decoder_flow(made)

    def cut(start: tuple, end: tuple) -> float:
        others = sorted(nodes - {start, end})
        sizes = []
        for sides in product([True, False], repeat=len(others)):
            here = {start, *(node for node, side in zip(others, sides, strict=True) if side)}
            inside = ((a, b, w) for a in here for b, w in below.get(a, {}).items())
            sizes.append(sum(w for _, b, w in inside if b not in here))
        return min(sizes)

    assert read[0, 1] == pytest.approx(cut(("target", 2, 0), ("source", 0, 1)), abs=1e-6)
    assert read[1, 0] == pytest.approx(cut(("target", 2, 1), ("source", 0, 0)), abs=1e-6)
    assert known[1, 0] == pytest.approx(cut(("target", 2, 1), ("target", 0, 0)), abs=1e-6)
    assert known[0, 1] == 0.0


@pytest.mark.parametrize("depth", [1, 3])
def test_rollout_gives_the_source_the_same_share_of_every_sentence(depth):
    read, known = decoder_rollout(layers(depth, source=5, target=3, seed=7))
    np.testing.assert_allclose(read.sum(axis=1), 1 - 0.5**depth)
    np.testing.assert_allclose(known.sum(axis=1), 0.5**depth)
    assert np.triu(known, 1).max() == 0.0


def test_a_decoder_alone_reads_what_was_written():
    alone = LayerWeights(decoder=(rows([1, 0], [0.5, 0.5]), rows([1, 0], [1, 0])))
    read, known = decoder_rollout(alone)
    assert read is None
    np.testing.assert_allclose(known, rows([1, 0], [0.625, 0.375]))
    flow, back = decoder_flow(alone)
    assert flow is None
    # Position 1 of the top: half to each below; node 0 there passes on all of it, node 1 at most
    # a quarter to word 0, and three quarters to word 1, of which it has a half.
    np.testing.assert_allclose(back, rows([1, 0], [0.75, 0.5]), atol=1e-6)


def test_layers_of_a_trace_are_the_means_of_its_heads():
    recorded = trace()
    found = LayerWeights.of(recorded.sites, recorded.axes)
    assert [len(each) for each in (found.encoder, found.decoder, found.cross)] == [2, 2, 2]
    second = next(site for site in recorded.sites if site.name == "cross.1")
    np.testing.assert_allclose(found.cross[1], second.weights.mean(0), rtol=1e-6)
