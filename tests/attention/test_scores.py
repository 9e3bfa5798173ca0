"""Scores and the attention that uses them, by hand."""

import math

import pytest
import torch

from jumok.attention.interfaces import ScoreFunction
from jumok.attention.observe import Attention, observe
from jumok.attention.scored import ScoredAttention
from jumok.attention.scores import (
    AdditiveScore,
    BilinearScore,
    CoverageScore,
    DotScore,
    ScaledDotScore,
)
from jumok.kernels.noise import Noise

QUERY = torch.tensor([[[1.0, 2.0]]])
MEMORY = torch.tensor([[[3.0, 0.0], [1.0, 1.0], [0.0, 2.0]]])


def score(part: ScoreFunction) -> list[float]:
    return part(part.queries(QUERY), part.keys(MEMORY))[0, 0].tolist()


def fill(part: ScoreFunction, **values: list) -> ScoreFunction:
    with torch.no_grad():
        for name, value in values.items():
            part.get_parameter(name.replace("__", ".")).copy_(torch.tensor(value))
    return part


def test_dot_score_by_hand():
    assert score(DotScore()) == [3, 3, 4]


def test_scaled_dot_score_is_divided_by_the_root_of_the_width():
    assert score(ScaledDotScore(2)) == pytest.approx([3 / 2**0.5, 3 / 2**0.5, 4 / 2**0.5])


def test_bilinear_score_by_hand():
    # W k for W = [[1, 1], [0, 2]]: (3, 0), (2, 2), (2, 4); with q = (1, 2): 3, 6, 10
    part = fill(BilinearScore(2, 2), key__weight=[[1.0, 1.0], [0.0, 2.0]])
    assert score(part) == [3, 6, 10]


def additive(part: AdditiveScore) -> AdditiveScore:
    return fill(
        part,
        query__weight=[[0.5, 0.0], [0.0, -0.5], [0.25, 0.25]],
        key__weight=[[0.0, 1.0], [1.0, 0.0], [0.5, 0.5]],
        energy=[1.0, -2.0, 0.5],
    )


def test_additive_score_by_hand():
    # W q = (0.5, -1, 0.75); U k = (0, 3, 1.5), (1, 1, 1), (2, 0, 1)
    expected = [
        math.tanh(0.5) - 2 * math.tanh(2.0) + 0.5 * math.tanh(2.25),
        math.tanh(1.5) - 2 * math.tanh(0.0) + 0.5 * math.tanh(1.75),
        math.tanh(2.5) - 2 * math.tanh(-1.0) + 0.5 * math.tanh(1.75),
    ]
    assert score(additive(AdditiveScore(2, 2, hidden=3))) == pytest.approx(expected)


def test_coverage_lowers_what_was_looked_at_before():
    part = fill(additive(CoverageScore(2, 2, hidden=3)), coverage=[-1.0, 0.0, 0.0])
    attention = ScoredAttention(part, Noise())
    covered = torch.tensor([[0.0, 2.0, 0.0]])
    keys = attention.keys(MEMORY)
    _, fresh = attention(QUERY, keys, MEMORY, covered=torch.zeros(1, 3))
    _, after = attention(QUERY, keys, MEMORY, covered=covered)
    assert torch.equal(fresh, attention(QUERY, keys, MEMORY)[1])
    # the second key's energy falls from tanh(1.5) to tanh(1.5 - 2), the others' stay
    ratio = math.exp(math.tanh(-0.5) - math.tanh(1.5))
    found = (after[0, 0, 1] / after[0, 0, 0]) / (fresh[0, 0, 1] / fresh[0, 0, 0])
    assert float(found) == pytest.approx(ratio, abs=1e-5)


def test_attention_is_the_weighted_sum_by_hand():
    found, weights = ScoredAttention(DotScore(), Noise())(QUERY, MEMORY, MEMORY)
    total = 2 + math.e  # exp(3), exp(3), exp(4), over exp(3)
    assert weights[0, 0].tolist() == pytest.approx([1 / total, 1 / total, math.e / total])
    expected = [(3 + 1) / total, (1 + 2 * math.e) / total]
    assert found[0, 0].tolist() == pytest.approx(expected)


def test_what_is_not_allowed_gets_nothing_and_a_row_of_nothing_gives_zeros():
    allowed = torch.tensor([[True, False, True], [False, False, False]])
    memory, query = MEMORY.expand(2, -1, -1), QUERY.expand(2, -1, -1)
    found, weights = ScoredAttention(DotScore(), Noise())(query, memory, memory, allowed)
    assert weights[0, 0].tolist() == pytest.approx([1 / (1 + math.e), 0, math.e / (1 + math.e)])
    assert weights[1].abs().sum() == found[1].abs().sum() == 0


def test_an_observer_hears_the_kind_and_the_weights_before_dropout():
    part = additive(AdditiveScore(2, 2, hidden=3))
    attention = ScoredAttention(part, Noise(), dropout=0.9).train()
    seen: list[Attention] = []
    with observe(attention, lambda _, heard: seen.append(heard)):
        _, weights = attention(QUERY, attention.keys(MEMORY), MEMORY)
    assert seen[0].kind == "additive"
    assert torch.equal(seen[0].weights[:, 0], weights)
    assert float(seen[0].weights.sum()) == pytest.approx(1)


def test_dropout_drops_weights_while_training():
    attention = ScoredAttention(DotScore(), Noise(), dropout=0.5).train()
    memory = torch.randn(5, 7, 2)
    found, _ = attention(memory, memory, memory)
    assert not torch.allclose(found, attention.eval()(memory, memory, memory)[0])
