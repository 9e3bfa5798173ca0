"""The chunked loss against its readable twin, and by hand."""

import math

import pytest
import torch

from jumok.kernels.cross_entropy import smoothed_cross_entropy, smoothed_cross_entropy_plainly
from tests.kernels.twins import assert_twins


def samples(tokens: int, vocabulary: int, dim: int = 16) -> tuple[torch.Tensor, ...]:
    torch.manual_seed(1)
    targets = torch.arange(tokens).mul(7).remainder(vocabulary)
    return torch.randn(tokens, dim), torch.randn(vocabulary, dim), targets


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("vocabulary", [5, 16, 101])
@pytest.mark.parametrize("tokens", [1, 512, 1031])  # chunks are of 512 tokens
def test_loss_and_gradients_agree_with_twin(tokens, vocabulary, smoothing, dtype):
    hidden, output, targets = samples(tokens, vocabulary)

    def fast(hidden, output):
        # only the gradients are of `dtype`; the loss itself is float32 whatever comes in
        return smoothed_cross_entropy(hidden, output, targets, smoothing).to(dtype)

    def slow(hidden, output):
        return smoothed_cross_entropy_plainly(hidden, output, targets, smoothing)

    assert_twins(fast, slow, [hidden, output], dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("tokens", [13, 1031])
def test_loss_with_a_bias_and_its_gradients_agree_with_twin(tokens, dtype):
    hidden, output, targets = samples(tokens, 101)
    bias = torch.randn(101)

    def fast(hidden, output, bias):
        return smoothed_cross_entropy(hidden, output, targets, 0.1, bias).to(dtype)

    def slow(hidden, output, bias):
        return smoothed_cross_entropy_plainly(hidden, output, targets, 0.1, bias)

    assert_twins(fast, slow, [hidden, output, bias], dtype)


def test_loss_agrees_with_twin_where_the_kernel_does_not_serve():
    hidden, output, targets = samples(13, 29)
    double = smoothed_cross_entropy(hidden.double(), output.double(), targets, 0.1)
    single = smoothed_cross_entropy(hidden, output, targets, 0.1)
    torch.testing.assert_close(double, single, atol=1e-4, rtol=0)


def test_loss_of_even_logits_is_the_logarithm_of_the_vocabulary():
    loss = smoothed_cross_entropy(
        torch.zeros(3, 16), torch.ones(7, 16), torch.tensor([0, 3, 6]), 0.1
    )
    assert float(loss) == pytest.approx(3 * math.log(7), abs=1e-5)


def test_loss_of_two_words_by_hand():
    """Logits 2 and 0: p = (0.881, 0.119); smoothing 0.2 asks for (0.9, 0.1)."""
    output = torch.zeros(2, 16)
    output[0, 0] = 2.0
    hidden = torch.zeros(1, 16)
    hidden[0, 0] = 1.0
    likely, unlikely = (-math.log(1 / (1 + math.exp(x))) for x in (-2, 2))
    loss = smoothed_cross_entropy(hidden, output, torch.tensor([0]), 0.2)
    assert float(loss) == pytest.approx(0.9 * likely + 0.1 * unlikely, abs=1e-6)


def test_loss_of_no_tokens_is_zero():
    hidden, output, targets = samples(0, 5)
    assert float(smoothed_cross_entropy(hidden, output, targets, 0.1)) == 0


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("wrong", [math.nan, math.inf])
def test_loss_is_not_finite_where_a_logit_is_not(wrong, smoothing):
    hidden, output, targets = samples(13, 29)
    hidden[5] = wrong
    assert not smoothed_cross_entropy(hidden, output, targets, smoothing).isfinite()


def test_loss_survives_logits_beyond_exp():
    hidden, output, targets = samples(3, 29)
    loss = smoothed_cross_entropy(hidden * 1000, output, targets, 0.1)
    expected = smoothed_cross_entropy_plainly(hidden * 1000, output, targets, 0.1)
    torch.testing.assert_close(loss, expected, rtol=1e-5, atol=0)
