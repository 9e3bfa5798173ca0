"""The chunked loss against its readable twin, and by hand."""

import math

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from jumok.errors import ModelError
from jumok.kernels import cross_entropy, native
from jumok.kernels.cross_entropy import (
    NO_TARGET,
    chunk_rows,
    consistent_cross_entropy,
    consistent_cross_entropy_plainly,
    smoothed_cross_entropy,
    smoothed_cross_entropy_plainly,
)
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


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("weight", [None, 2.5])
def test_rows_without_a_target_have_no_loss_and_no_gradient(weight, dtype):
    hidden, output, targets = samples(26, 29)
    wanted, missing = targets.clone(), torch.arange(26) % 3 == 1
    wanted[missing] = NO_TARGET
    found = []
    for some, places in ((wanted, slice(None)), (targets[~missing], ~missing)):
        states = hidden.to(dtype).requires_grad_()
        table = output.to(dtype).requires_grad_()
        rows = states[places]
        if weight is None:
            loss = smoothed_cross_entropy(rows, table, some, 0.1)
            twin = smoothed_cross_entropy_plainly(rows, table, some, 0.1)
        else:
            pairs = torch.stack((rows, rows.flip(1)), dim=1)
            loss = consistent_cross_entropy(pairs, table, some, 0.1, weight)
            twin = consistent_cross_entropy_plainly(pairs, table, some, 0.1, weight)
        torch.testing.assert_close(loss.float(), twin.float(), rtol=2e-2, atol=0)
        loss.backward()
        found.append((loss.detach(), states.grad, table.grad))
    assert found[0][1][missing].abs().max() == 0
    for one, other in zip(*found, strict=True):
        tolerance = 1e-2 if dtype == torch.bfloat16 else 1e-5
        torch.testing.assert_close(one, other, rtol=tolerance, atol=tolerance)


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


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("vocabulary", [5, 16, 101])
@pytest.mark.parametrize("tokens", [1, 256, 519])  # chunks are of 256 pairs
def test_loss_of_two_readings_agrees_with_twin(tokens, vocabulary, smoothing, dtype):
    _, output, targets = samples(tokens, vocabulary)
    # Moderate logits: what bfloat16 rounds off a large one is as much as two readings differ in.
    readings = 0.3 * torch.randn(tokens, 2, 16)

    def fast(readings, output):
        return consistent_cross_entropy(readings, output, targets, smoothing, 2.5).to(dtype)

    def slow(readings, output):
        return consistent_cross_entropy_plainly(readings, output, targets, smoothing, 2.5)

    assert_twins(fast, slow, [readings, output], dtype)


def test_loss_of_two_readings_agrees_with_twin_where_the_kernel_does_not_serve():
    _, output, targets = samples(13, 29)
    readings = torch.randn(13, 2, 16)

    def fast(readings, output):
        doubles = readings.double(), output.double()
        return consistent_cross_entropy(*doubles, targets, 0.1, 2.5)

    def slow(readings, output):
        return consistent_cross_entropy_plainly(readings, output, targets, 0.1, 2.5)

    assert_twins(fast, slow, [readings, output], torch.float32)


def test_two_readings_that_agree_cost_twice_what_one_costs():
    hidden, output, targets = samples(13, 29)
    readings = hidden[:, None].expand(-1, 2, -1)
    both = consistent_cross_entropy(readings, output, targets, 0.1, 2.5)
    one = smoothed_cross_entropy(hidden, output, targets, 0.1)
    assert float(both) == pytest.approx(2 * float(one), rel=1e-6)


def test_what_two_readings_disagree_in_by_hand():
    """Logits (2, 0) and (0, 0): the divergences' sum is (0.881 - 0.5) (2 - 0) = tanh 1."""
    output = torch.zeros(2, 16)
    output[0, 0] = 2.0
    readings = torch.zeros(1, 2, 16)
    readings[0, 0, 0] = 1.0
    without, with_it = (
        float(consistent_cross_entropy(readings, output, torch.tensor([0]), 0.0, weight))
        for weight in (0.0, 3.0)
    )
    assert without == pytest.approx(math.log(1 + math.exp(-2)) + math.log(2), abs=1e-6)
    assert with_it - without == pytest.approx(3 * math.tanh(1), abs=1e-5)


@pytest.mark.parametrize("kernels", [True, False])
@pytest.mark.parametrize("wrong", [101, 1 << 40, -1])
def test_a_target_beyond_the_vocabulary_is_refused_before_it_is_followed(
    wrong, kernels, monkeypatch
):
    if not kernels:
        monkeypatch.setattr(native, "serves", lambda *_: False)
    hidden, output, targets = samples(700, 101)
    targets[600] = wrong
    with pytest.raises(ModelError, match="none of the model's classes") as caught:
        smoothed_cross_entropy(hidden, output, targets, 0.1)
    assert "expected: 0 to 100" in str(caught.value)
    assert f"got:      {wrong}" in str(caught.value)
    with pytest.raises(ModelError, match="none of the model's classes"):
        consistent_cross_entropy(hidden[:, None].repeat(1, 2, 1), output, targets, 0.1, 1.0)


class Largest(TorchDispatchMode):
    """Notes how many elements the largest result of an operation has."""

    most = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        found = func(*args, **(kwargs or {}))
        if isinstance(found, torch.Tensor):
            self.most = max(self.most, found.numel())
        return found


@pytest.mark.parametrize("weight", [None, 0.7])
def test_logits_on_a_gpu_never_exist_whole_and_agree_with_twin(weight, monkeypatch):
    """The path of a GPU on the processor: 22 rows of logits, 8 at once, the last ones fewer."""
    monkeypatch.setattr(native, "serves", lambda *_: False)
    monkeypatch.setattr(cross_entropy, "chunk_rows", lambda *_: 8)
    hidden, output, targets = samples(22 if weight is None else 11, 101)
    bias = torch.randn(101)
    pairs = torch.stack([hidden, hidden.flip(0) / 2], dim=1)

    def fast(states, table, bias):
        if weight is None:
            return smoothed_cross_entropy(states, table, targets, 0.1, bias)
        return consistent_cross_entropy(states, table, targets, 0.1, weight)

    def slow(states, table, bias):
        if weight is None:
            return smoothed_cross_entropy_plainly(states, table, targets, 0.1, bias)
        return consistent_cross_entropy_plainly(states, table, targets, 0.1, weight)

    def results(function):
        leaves = [hidden if weight is None else pairs, output, bias]
        leaves = [leaf.clone().requires_grad_() for leaf in leaves]
        loss = function(*leaves)
        loss.backward()
        return [loss.detach(), leaves[0].grad, leaves[1].grad]

    with Largest() as measured:
        found = results(fast)
    assert measured.most == output.numel() > 8 * 101
    for ours, expected in zip(found, results(slow), strict=True):
        torch.testing.assert_close(ours, expected, atol=1e-5, rtol=1e-5)


def test_rows_at_once_on_a_gpu_fit_in_a_quarter_of_a_gigabyte():
    """268,435,456 bytes are 2,097 rows of 32,000 float32; on a processor a chunk stays small."""
    assert chunk_rows(torch.device("cuda"), 32_000) == 2_096
    assert chunk_rows(torch.device("cuda"), 10**6) == 512
    assert chunk_rows(torch.device("cpu"), 32_000) == 512
