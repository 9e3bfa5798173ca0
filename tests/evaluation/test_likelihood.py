"""Loss is the mean over pieces, whatever line they stand in."""

import math

import pytest

from jumok.evaluation.likelihood import likelihood
from jumok.systems.translation.result import Translation


def test_loss_weighs_pieces_and_not_lines() -> None:
    long = Translation("x", token_log_probabilities=(math.log(1 / 2),) * 4)
    short = Translation("y", token_log_probabilities=(math.log(1 / 32),))
    total = likelihood([long, short])
    assert total.tokens == 5
    # four halvings and five more in one piece: 9 bits over 5 pieces
    assert total.loss == pytest.approx(9 / 5 * math.log(2))
    assert total.perplexity == pytest.approx(2 ** (9 / 5))
