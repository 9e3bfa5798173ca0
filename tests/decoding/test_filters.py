from math import inf, log

import pytest
import torch

from jumok.decoding.filters import (
    FREE,
    Filter,
    Penalties,
    forbid,
    force,
    min_p,
    most_probable,
    no_repeat,
    temperature,
    top_k,
    top_p,
)
from jumok.errors import ConfigError

# probabilities 0.15, 0.5, 0.05, 0.3
SCORES = torch.tensor([[log(0.15), log(0.5), log(0.05), log(0.3)]])


def kept(apply: Filter, scores: torch.Tensor = SCORES) -> list[list[int]]:
    """The places that may still come, a list a row."""
    before = scores.clone()
    filtered = apply(scores)
    assert torch.equal(scores, before)
    return [(row > -inf).nonzero()[:, 0].tolist() for row in filtered]


def test_forbid_takes_tokens_out() -> None:
    assert kept(forbid((0, 3))) == [[1, 2]]


def test_no_repeat_takes_out_what_would_end_a_stretch_again() -> None:
    """Row 0 has written 1 2 1 3 1 2; row 1 has repeated nothing."""
    written = torch.tensor([[1, 2, 1, 3, 1, 2], [0, 1, 2, 3, 0, 0]])
    rows = SCORES.repeat(2, 1)
    assert kept(no_repeat(written, 1), rows) == [[0], []]
    assert kept(no_repeat(written, 2), rows) == [[0, 2, 3], [2, 3]]  # 2 1; 0 1 and 0 0
    assert kept(no_repeat(written, 3), rows) == [[0, 2, 3], [0, 1, 2, 3]]  # 1 2 1
    assert kept(no_repeat(written, 4), rows) == [[0, 1, 2, 3]] * 2
    assert kept(no_repeat(written, 7), rows) == [[0, 1, 2, 3]] * 2


def test_force_leaves_one_token_and_its_score() -> None:
    rows = SCORES.repeat(2, 1)
    assert kept(force(torch.tensor([2, FREE])), rows) == [[2], [0, 1, 2, 3]]
    assert force(torch.tensor([2, FREE]))(rows)[0, 2] == SCORES[0, 2]


def test_temperature_raises_probabilities_to_its_inverse() -> None:
    # temperature 1/2 squares: 0.0225 0.25 0.0025 0.09, together 0.365
    squared = temperature(0.5)(SCORES).softmax(1)
    assert squared[0].tolist() == pytest.approx([0.06164, 0.68493, 0.00685, 0.24658], abs=1e-5)


def test_top_k_keeps_the_most_probable() -> None:
    assert kept(top_k(1)) == [[1]]
    assert kept(top_k(3)) == [[0, 1, 3]]
    assert kept(top_k(99)) == [[0, 1, 2, 3]]


def test_top_k_keeps_the_lower_id_of_equals() -> None:
    assert kept(top_k(2), torch.tensor([[0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0]])) == [[0, 1]]


def test_top_p_keeps_the_fewest_that_hold_the_mass() -> None:
    # in order 0.5, 0.3, 0.15, 0.05
    assert kept(top_p(0.1)) == [[1]]
    assert kept(top_p(0.49)) == [[1]]
    assert kept(top_p(0.51)) == [[1, 3]]
    assert kept(top_p(0.79)) == [[1, 3]]
    assert kept(top_p(0.81)) == [[0, 1, 3]]
    assert kept(top_p(1.0)) == [[0, 1, 2, 3]]


def test_top_p_keeps_a_nucleus_of_many() -> None:
    # 601 tokens of equal probability: 500.5 of them hold 0.83278
    assert kept(top_p(500.5 / 601), torch.zeros(1, 601)) == [list(range(501))]


def test_top_p_after_top_k_counts_what_is_left() -> None:
    # of 0.5 and 0.3, the first holds 0.625
    assert kept(lambda scores: top_p(0.62)(top_k(2)(scores))) == [[1]]
    assert kept(lambda scores: top_p(0.63)(top_k(2)(scores))) == [[1, 3]]


def test_min_p_keeps_what_has_its_share_of_the_highest_probability() -> None:
    # shares of 0.5: 0.3, 1, 0.1, 0.6
    assert kept(min_p(0.61)) == [[1]]
    assert kept(min_p(0.59)) == [[1, 3]]
    assert kept(min_p(0.29)) == [[0, 1, 3]]
    assert kept(min_p(0.09)) == [[0, 1, 2, 3]]
    assert kept(min_p(1.0)) == [[1]]
    assert kept(min_p(0.0)) == [[0, 1, 2, 3]]
    assert kept(min_p(1.0), torch.zeros(1, 3)) == [[0, 1, 2]]  # all have the highest


def test_penalties_are_openai_s() -> None:
    """By hand: each score less frequency times its count, and presence where there is one.

    Row 1 of the batch that is left began as row 2, with two forced tokens, which are not counted.
    """
    scores = torch.tensor([[1.0, 2.0, 3.0, 4.0], [-1.0, -2.0, -3.0, -torch.inf]])
    written = torch.tensor([[3, 3, 1, 3], [2, 2, 0, 2]])
    seen: list[torch.Tensor] = []

    def choose(penalised: torch.Tensor, *_: torch.Tensor) -> torch.Tensor:
        seen.append(penalised)
        return penalised.argmax(1)

    penalties = Penalties(frequency=0.5, presence=0.25)
    chosen = penalties.before(choose, [0, 9, 2])(scores, torch.tensor([0, 2]), written)
    expected = [[1.0, 2.0 - 0.75, 3.0, 4.0 - 1.75], [-1.75, -2.0, -3.75, -torch.inf]]
    assert seen[0].tolist() == expected
    assert chosen.tolist() == [2, 0]
    assert Penalties().before(most_probable, [0]) is most_probable


@pytest.mark.parametrize(
    ("make", "value", "text"),
    [
        (temperature, 0.0, "temperature must be a positive number.*\n.*temperature > 0"),
        (temperature, -1.0, "got:      -1.0\n  do:       for the most probable token"),
        (temperature, inf, "temperature must be a positive number"),
        (top_k, 0, "expected: top_k >= 1\n  got:      0"),
        (top_p, 0.0, "expected: 0 < top_p <= 1\n  got:      0.0"),
        (top_p, 1.5, "expected: 0 < top_p <= 1\n  got:      1.5"),
        (min_p, -0.1, "expected: 0 <= min_p <= 1\n  got:      -0.1"),
        (min_p, 1.5, "a share of the largest probability.*\n.*0 <= min_p <= 1"),
    ],
)
def test_filters_refuse_what_keeps_nothing(make: object, value: float, text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        make(value)
