from dataclasses import replace
from math import log

import numpy as np
import pytest
import torch

from jumok.decoding import DecodingOptions
from jumok.decoding.limits import Limits
from jumok.decoding.stepper import NextTokens, Reading, reduced
from jumok.decoding.torch_stepper import lengths_of
from jumok.decoding.writing import WrittenText
from jumok.errors import ConfigError
from jumok.models.memory import Memory

OPTIONS = DecodingOptions(beam=1)


def step(**reading: object) -> NextTokens:
    """Of probabilities 0.1, 0.2, 0.1, 0.4 and 0.2."""
    scores = np.log(np.array([[[0.1, 0.2, 0.1, 0.4, 0.2]]], np.float32))
    return reduced(scores, [Reading((2,), 0, 0, **reading)])


def probabilities(found: NextTokens) -> list[float]:
    assert found.whole is not None
    return [round(float(value), 4) for value in np.exp(found.whole[0])]


def test_forbidden_tokens_keep_their_probability() -> None:
    """0.2 is that of 1, although PAD and START may not be written."""
    text = WrittenText(replace(OPTIONS, minimum_length=1), 9)
    (reading,) = text.reading()
    assert (reading.without, reading.best) == (3, 3)
    text.advance(step(best=5))
    assert text.tokens == []  # END is the best
    (found,) = text.hypotheses()
    assert found.token_log_probabilities == pytest.approx([log(0.4)])


def test_end_below_the_minimum_length_leaves_its_probability_to_the_others() -> None:
    # 0.2 / (1 - 0.4) = 0.3333
    assert probabilities(step(whole=True, without=3)) == [0.1667, 0.3333, 0.1667, 0.0, 0.3333]
    assert probabilities(step(whole=True)) == [0.1, 0.2, 0.1, 0.4, 0.2]


@pytest.mark.parametrize("share", [0.2, 0.9, 1 - 1e-6])
def test_what_an_improbable_rest_shares_is_precise(share: float) -> None:
    """In float64, by hand: what is left is divided by itself."""
    left = np.array([0.25, 0.75]) * (1 - share)
    scores = np.log(np.array([*left, share])).astype(np.float32)[None, None]
    found = reduced(scores, [Reading((2,), 0, 0, whole=True, without=2)])
    assert probabilities(found) == pytest.approx([0.25, 0.75, 0.0], abs=1e-3)


def test_longest_counts_real_positions() -> None:
    allowed = torch.arange(7) < torch.tensor([[7], [3], [0]])
    memory = Memory(torch.zeros(3, 7, 2), allowed)
    assert [Limits(maximum_length=31).longest_of(n) for n in lengths_of(memory)] == [31, 31, 31]
    # floor(0.5 * n) + 1, at least 2 and at most 31
    limits = Limits(2, 31, maximum_ratio=0.5, maximum_extra=1)
    assert [limits.longest_of(n) for n in lengths_of(memory)] == [4, 2, 2]
    assert lengths_of(Memory(torch.zeros(3, 7, 2))) == [7, 7, 7]
    assert lengths_of(replace(memory, lengths=torch.tensor([2, 5, 1]))) == [2, 5, 1]


def test_end_cannot_be_forbidden() -> None:
    with pytest.raises(ConfigError, match="no sentence could end: the end token is forbidden"):
        Limits(end=2)
