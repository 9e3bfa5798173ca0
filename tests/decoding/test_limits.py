from math import exp, log

import pytest
import torch

from jumok.decoding.filters import FREE
from jumok.decoding.limits import Limits
from jumok.errors import ConfigError
from jumok.models.memory import Memory

LOGITS = torch.tensor([[log(0.1), log(0.2), log(0.1), log(0.4), log(0.2)]])


def probabilities(scores: torch.Tensor) -> list[float]:
    return [round(exp(value), 4) for value in scores[0].tolist()]


def test_forbidden_tokens_keep_their_probability() -> None:
    assert probabilities(Limits().log_probabilities(LOGITS, 0)) == [0.0, 0.2, 0.0, 0.4, 0.2]


def test_end_below_the_minimum_length_leaves_its_probability_to_the_others() -> None:
    # 0.2 / (1 - 0.4) = 0.3333
    limits = Limits(minimum_length=2)
    below = [0.0, 0.3333, 0.0, 0.0, 0.3333]
    assert probabilities(limits.log_probabilities(LOGITS, 1)) == below
    assert probabilities(limits.log_probabilities(LOGITS, 2)) == [0.0, 0.2, 0.0, 0.4, 0.2]


def test_forced_token_keeps_its_probability() -> None:
    forced = Limits().log_probabilities(LOGITS, 0, torch.tensor([1]))
    assert probabilities(forced) == [0.0, 0.2, 0.0, 0.0, 0.0]
    free = Limits().log_probabilities(LOGITS, 0, torch.tensor([FREE]))
    assert probabilities(free) == [0.0, 0.2, 0.0, 0.4, 0.2]


def test_log_probabilities_of_low_precision_logits_are_float32() -> None:
    assert Limits().log_probabilities(LOGITS.bfloat16(), 0).dtype == torch.float32


def test_longest_counts_real_positions() -> None:
    allowed = torch.arange(7) < torch.tensor([[7], [3], [0]])
    memory = Memory(torch.zeros(3, 7, 2), allowed)
    assert Limits(maximum_length=31).longest(memory).tolist() == [31, 31, 31]
    # floor(0.5 * n) + 1, at least 2 and at most 31
    limits = Limits(2, 31, maximum_ratio=0.5, maximum_extra=1)
    assert limits.longest(memory).tolist() == [4, 2, 2]
    assert limits.longest(Memory(torch.zeros(3, 7, 2))).tolist() == [4, 4, 4]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"minimum_length": -1}, "got:      minimum_length=-1, maximum_length=256"),
        ({"maximum_length": 0}, "expected: minimum_length >= 0 and maximum_length >= 1"),
        ({"minimum_length": 9, "maximum_length": 5}, "expected: minimum_length <= 5"),
        ({"maximum_ratio": -0.5}, "expected: maximum_ratio >= 0 and maximum_extra >= 0"),
        ({"maximum_extra": -1}, "got:      maximum_ratio=None, maximum_extra=-1"),
        ({"no_repeat_ngram": -1}, "0 lets everything repeat"),
        ({"end": 2}, "no sentence could end: the end token is forbidden"),
    ],
)
def test_limits_refuse_what_nothing_can_keep_to(arguments: dict, text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        Limits(**arguments)


@pytest.mark.parametrize(
    "limits",
    [
        Limits(maximum_length=9),
        Limits(maximum_length=40, maximum_ratio=1.3, maximum_extra=2),
        Limits(minimum_length=5, maximum_length=8, maximum_ratio=0.1, maximum_extra=0),
    ],
    ids=str,
)
def test_the_longest_target_of_a_length_is_that_of_a_memory(limits: Limits) -> None:
    allowed = torch.arange(30) < torch.arange(1, 31)[:, None]
    memory = Memory(torch.zeros(30, 30, 2), allowed)
    assert limits.longest(memory).tolist() == [limits.longest_of(n) for n in range(1, 31)]
