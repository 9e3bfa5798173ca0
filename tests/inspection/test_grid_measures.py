"""Measures of heads over a picture's cells, on grids small enough to see, and their roles."""

from dataclasses import replace
from math import log, sqrt

import numpy as np
import pytest
import torch

from jumok.data.tokenizer import PAD, START
from jumok.inspection.heads.cards import GridCard, reach
from jumok.inspection.heads.grid_measures import GridMeter, distances

RAW = torch.tensor([3.0, 4.0])
QUIET = GridCard(
    site="decoder.blocks.0.cross_attention",
    part="cross",
    layer=0,
    head=0,
    grid=(2, 3),
    entropy=1.0,
    uniform_share=0.5,
    confidence=0.5,
    where=((0.1, 0.2, 0.1), (0.1, 0.4, 0.1)),
    importance=0.6,
    raw_importance=0.1,
)
NEVER = ((0.0,) * 5,) * 3
"""Offsets of a grid of 2 x 3."""


def words_look(weights: list[list[list[float]]], queries: list[int]) -> GridMeter:
    """Of one caption: (heads query cell), over 2 x 3 cells."""
    meter = GridMeter("cross", (2, 3))
    tokens = torch.tensor([queries])
    meter.look(torch.tensor([weights]), torch.arange(len(queries)), tokens, tokens)
    return meter


def test_words_over_cells_by_hand():
    """The last row fills the caption, and counts for nothing."""
    one = [[0.5, 0.5, 0, 0, 0, 0], [0, 0, 0, 0, 0, 1.0], [1 / 6] * 6]
    other = [[1 / 6] * 6, [1 / 6] * 6, [1.0, 0, 0, 0, 0, 0]]
    meter = words_look([one, other], [START, 7, PAD])
    card, even = (meter.card("decoder.blocks.1.cross_attention", 1, head, RAW) for head in (0, 1))
    assert (card.part, card.layer, card.head, card.grid) == ("cross", 1, 0, (2, 3))
    assert card.entropy == pytest.approx(log(2) / 2)
    assert card.uniform_share == pytest.approx(log(2) / 2 / log(6))
    assert card.confidence == pytest.approx(0.75)
    assert card.where == ((0.25, 0.25, 0.0), (0.0, 0.0, 0.5))
    assert (card.importance, card.raw_importance) == pytest.approx((0.6, 3.0))
    assert even.uniform_share == pytest.approx(1.0)
    assert even.importance == pytest.approx(0.8)
    assert card.offsets is card.distance is card.same is card.pointing is None


def cells_look(grid: tuple[int, int], chosen: list[int]) -> GridMeter:
    """Of one picture: every cell gives all its weight to one."""
    meter = GridMeter("image", grid, residual_gate=0.25)
    weights = torch.eye(len(chosen))[chosen][None, None]
    every = torch.ones(1, 1, dtype=torch.long)
    meter.look(weights, torch.arange(len(chosen)), every, every)
    return meter


def test_cells_over_cells_by_hand():
    """
    0 1 2     0 looks at 4, 1 at 2, 2 at itself,
    3 4 5     3 at 0, 4 at 3, 5 at 3
    """
    card = cells_look((2, 3), [4, 2, 2, 0, 3, 3]).card("stack.stages.1.2", 1, 0, RAW)
    assert (card.part, card.layer, card.residual_gate) == ("image", 1, 0.25)
    assert card.offsets is not None
    shares = {
        (y - 1, x - 2): share * 6
        for y, row in enumerate(card.offsets)
        for x, share in enumerate(row)
        if share
    }
    expected = {(1, 1): 1, (0, 1): 1, (0, 0): 1, (-1, 0): 1, (0, -1): 1, (0, -2): 1}
    assert shares == pytest.approx(expected)
    assert card.beyond == 0.0
    assert card.same == pytest.approx(1 / 6)
    assert card.near == pytest.approx(5 / 6)
    assert card.distance == pytest.approx((sqrt(2) + 1 + 0 + 1 + 1 + 2) / 6)
    np.testing.assert_allclose(card.where, np.array([[1, 0, 2], [2, 1, 0]]) / 6)


def test_offsets_beyond_eight_are_counted_together():
    """A row of twelve cells: the first four look at the last one, 11 to 8 away."""
    card = cells_look((1, 12), [11, 11, 11, 11, *range(4, 12)]).card("stack.0.1", 0, 0, RAW)
    assert reach((1, 12)) == (0, 8)
    assert card.offsets is not None
    (row,) = card.offsets
    assert len(row) == 17
    assert card.beyond == pytest.approx(3 / 12)
    assert (row[8], row[16]) == pytest.approx((8 / 12, 1 / 12))
    assert sum(row) + card.beyond == pytest.approx(1.0)


def test_distance_of_even_weight_is_that_of_all_pairs():
    found = [
        sqrt((a // 3 - b // 3) ** 2 + (a % 3 - b % 3) ** 2) for a in range(6) for b in range(6)
    ]
    card = cells_look((2, 3), [0] * 6).card("stack.0.1", 0, 0, RAW)
    assert card.even_distance == pytest.approx(sum(found) / 36)
    assert distances((2, 3)).flatten().tolist() == pytest.approx(found)


def test_batches_and_steps_add_up():
    """An RNN looks step by step."""
    torch.manual_seed(3)
    weights, tokens = torch.rand(2, 2, 3, 6).softmax(3), torch.tensor([[2, 7, 8], [2, 9, PAD]])
    whole, parts = GridMeter("cross", (2, 3)), GridMeter("cross", (2, 3))
    whole.look(weights, torch.arange(3), tokens, tokens)
    for row in range(2):
        for step in range(3):
            here = weights[row : row + 1, :, step : step + 1], torch.tensor([step])
            parts.look(*here, tokens[row : row + 1, step : step + 1], tokens[row : row + 1])
    for head in range(2):
        one, other = (meter.card("decoder.attention", 0, head, RAW) for meter in (whole, parts))
        assert one.entropy == pytest.approx(other.entropy)
        np.testing.assert_allclose(one.where, other.where, rtol=1e-6)


@pytest.mark.parametrize(
    ("changes", "role"),
    [
        ({}, "no clear role"),
        ({"pointing": 0.51}, "points"),
        ({"pointing": 0.5}, "no clear role"),
        ({"part": "image", "same": 0.51, "near": 0.6}, "same"),
        ({"part": "image", "near": 0.51}, "near"),
        ({"where": ((0.51, 0.0, 0.0), (0.0, 0.0, 0.49))}, "one place"),
        ({"uniform_share": 0.91}, "broad"),
        ({"uniform_share": 0.9}, "no clear role"),
        # Of six cells four have one to their right: 90 % of them are 0.6 of all.
        ({"offsets": (NEVER[0], (0.0, 0.0, 0.39, 0.61, 0.0), NEVER[0])}, "shift"),
        ({"offsets": (NEVER[0], (0.0, 0.0, 0.41, 0.59, 0.0), NEVER[0])}, "no clear role"),
        # Two of six have one two to their right: too few to speak of.
        ({"offsets": (NEVER[0], (0.0, 0.0, 0.6, 0.0, 0.4), NEVER[0])}, "no clear role"),
    ],
)
def test_roles_of_heads_over_cells(changes, role):
    assert replace(QUIET, **changes).role == role


def test_facts_say_what_is_left_out_and_why():
    facts = QUIET.facts()
    assert (facts["layer"], facts["head"], facts["role"]) == (1, 1, "no clear role")
    assert {"offsets", "distance", "pointing", "first"} & set(facts) == set()
    assert set(facts["left_out"]) == {
        "first, last, previous, next",
        "punctuation, rarest",
        "offsets, distance",
        "pointing",
    }
    assert "boxes.jsonl" in facts["left_out"]["pointing"]
    judged = replace(QUIET, nouns=3, pointing=0.25, in_box=0.1, even_in_box=0.05)
    assert "pointing" not in judged.facts()["left_out"]
    assert judged.facts()["pointing"] == 0.25
    cells = replace(QUIET, part="image", offsets=NEVER, distance=1.0)
    assert cells.facts()["left_out"]["pointing"].startswith("the model writes no words")
    assert "offsets, distance" not in cells.facts()["left_out"]
