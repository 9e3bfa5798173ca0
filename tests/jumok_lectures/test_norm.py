"""A vector on its way through a norm, and what the report makes of losses at every rate."""

import math

import pytest
import torch

from jumok.data.tokenizer import Tokenizer
from jumok.models.encoder_decoder import Transformer
from jumok_lectures.experiments import norm
from jumok_lectures.experiments.norm import GUESSING, RATES, Vector
from jumok_lectures.small import Trained
from tests.jumok_lectures.test_small import tiny

THROUGH = Vector((0.3, 2.0), (0.0, 1.0), (0.1, 0.7))


def losses(pre: float, post: float, none: float) -> dict[str, list[float]]:
    """Three seeds at every rate, which differ a little."""
    ends = {"pre": pre, "post": post, "none": none}
    return {
        f"{name} {rate:g}": [end - 0.01, end, end + 0.01]
        for name, end in ends.items()
        for rate in RATES
    }


def test_a_real_vector_is_taken_apart() -> None:
    model: Transformer = tiny().eval()
    found = norm.vector(
        Trained(model, Tokenizer.train(["a b"], "char", 20, byte_fallback=False), [], 0.0),
        torch.tensor([[7, 8]]),
    )
    stream = model.encoder.embedding(torch.tensor([[7]]))[0, 0].detach()
    assert found.before[1] == pytest.approx(float(stream.std(correction=0)), rel=1e-5)
    assert abs(found.normalised[0]) < 1e-6
    assert found.normalised[1] == pytest.approx(1.0, abs=1e-3)
    # A norm that was not trained scales by one and shifts by nothing.
    assert found.after == pytest.approx(found.normalised, abs=1e-3)


def test_a_norm_has_to_help_at_the_highest_rate_and_at_its_best() -> None:
    helps = norm.report(losses(0.2, 0.3, 4.0), [THROUGH])
    assert helps.outcome == "holds"
    assert (
        "0.30 and 2.00 before normalization, 0.00 and 1.00 after it, and 0.10 and 0.70"
        in helps.sentence.en
    )
    # After the residual it does not: the part of the notes.
    half = norm.report(losses(0.2, 4.0, 4.0), [THROUGH])
    assert [each.state for each in half.conditions] == ["met", "unmet", "met", "unmet", "met"]
    assert half.outcome == "partly"


def test_a_loss_that_diverges_counts_as_guessing() -> None:
    assert norm.counted(math.nan) == norm.counted(math.inf) == norm.counted(1e9) == GUESSING
