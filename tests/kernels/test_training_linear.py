"""The linear layers of training against their twins; those of GPUs are torch's functions, too."""

from types import SimpleNamespace

import pytest
import torch
import torch.nn.functional as F

from jumok.attention.multihead import MultiHeadAttention
from jumok.kernels import linear
from jumok.kernels.noise import Noise
from jumok.kernels.training import linear as training_linear
from jumok.kernels.training.gradients import gradients_added_up
from jumok.layers.dropout import Dropout
from jumok.layers.feedforward import PlainFeedForward
from jumok.training.learner import Learner
from tests.gpu.cases import Case, learner_of, model_of, training

CASES = dict(training())


def parameters(outer: int, inner: int) -> list[torch.Tensor]:
    return [torch.randn(outer, inner).requires_grad_(), torch.randn(outer).requires_grad_()]


@pytest.fixture
def on_card(monkeypatch):
    """Layers compute as on a GPU."""
    monkeypatch.setattr(linear, "serving", SimpleNamespace(serves=lambda _: True))
    monkeypatch.setattr(linear.native, "serves", lambda *_: False)


@pytest.mark.parametrize("bent", [False, True])
@pytest.mark.parametrize("shape", [(7, 5), (2, 3, 5)])
def test_a_layer_and_its_gradients_are_those_of_its_twin(shape, bent):
    torch.manual_seed(1)
    states = torch.randn(shape).requires_grad_()
    weight, bias = parameters(4, 5)
    slope = torch.randn(*shape[:-1], 4)
    found = training_linear.trained_linear(states, weight, bias, bent=bent)
    twin = F.linear(states, weight, bias)
    twin = twin.relu() if bent else twin
    torch.testing.assert_close(found, twin)
    inputs = states, weight, bias
    for one, other in zip(
        torch.autograd.grad(found, inputs, slope),
        torch.autograd.grad(twin, inputs, slope),
        strict=True,
    ):
        torch.testing.assert_close(one, other)


def test_layers_that_read_the_same_states_and_their_gradients_are_those_of_their_twins():
    torch.manual_seed(1)
    states = torch.randn(2, 3, 5).requires_grad_()
    pairs = [parameters(4, 5), parameters(6, 5), parameters(4, 5)]
    found = training_linear.trained_linears(states, [(weight, bias) for weight, bias in pairs])
    twins = [F.linear(states, weight, bias) for weight, bias in pairs]
    slopes = [torch.randn_like(each) for each in twins]
    inputs = [states, *(each for pair in pairs for each in pair)]
    for one, other in zip(found, twins, strict=True):
        torch.testing.assert_close(one, other)
    for one, other in zip(
        torch.autograd.grad(found, inputs, slopes),
        torch.autograd.grad(twins, inputs, slopes),
        strict=True,
    ):
        torch.testing.assert_close(one, other)


def test_gradients_are_added_up_in_place_only_where_that_was_asked_for(monkeypatch):
    monkeypatch.setattr(training_linear, "adding_is_free", lambda _: True)
    torch.manual_seed(1)
    states = torch.randn(7, 5)
    weight, bias = parameters(4, 5)
    first = training_linear.trained_linear(states, weight, bias)
    first.sum().backward()  # there is no gradient to add to yet
    assert weight.grad is not None
    once, places = weight.grad.clone(), (weight.grad.data_ptr(), bias.grad.data_ptr())
    with gradients_added_up():
        found = training_linear.trained_linear(states, weight, bias).sum()
    found.backward()
    torch.testing.assert_close(weight.grad, 2 * once)
    torch.testing.assert_close(bias.grad, torch.full((4,), 14.0))
    assert places == (weight.grad.data_ptr(), bias.grad.data_ptr())
    torch.autograd.grad(training_linear.trained_linear(states, weight, bias).sum(), weight)
    torch.testing.assert_close(weight.grad, 2 * once)


def test_a_hook_of_a_parameter_gets_its_gradient(monkeypatch):
    monkeypatch.setattr(training_linear, "adding_is_free", lambda _: True)
    weight, bias = parameters(4, 5)
    weight.grad, bias.grad = torch.zeros(4, 5), torch.zeros(4)
    heard: list[torch.Tensor] = []
    weight.register_post_accumulate_grad_hook(lambda each: heard.append(each.grad.clone()))
    with gradients_added_up():
        training_linear.trained_linear(torch.ones(7, 5), weight, bias).sum().backward()
    assert torch.equal(heard[0], torch.full((4, 5), 7.0))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("frozen", [0, 1])
def test_of_a_weight_and_a_bias_one_may_be_frozen(frozen, dtype, monkeypatch):
    monkeypatch.setattr(training_linear, "adding_is_free", lambda _: True)
    both = [each.detach().to(dtype) for each in parameters(16, 5)]
    both[frozen].grad, learns = torch.zeros_like(both[frozen]), both[1 - frozen].requires_grad_()
    learns.grad = torch.zeros_like(learns)
    with gradients_added_up():
        training_linear.trained_linear(torch.ones(7, 5, dtype=dtype), *both).sum().backward()
    assert torch.equal(learns.grad, torch.full_like(learns, 7.0))
    assert not both[frozen].grad.any()


def test_a_hooked_layer_is_called(on_card):
    torch.manual_seed(1)
    attention = MultiHeadAttention(16, 2, 8, 8, Noise())
    feedforward = PlainFeedForward(16, 32, "relu", Dropout(0.0, Noise()))
    calls: list[str] = []
    attention.value.register_forward_hook(lambda *_: calls.append("value"))
    feedforward.inner.register_forward_hook(lambda *_: calls.append("inner"))
    states = torch.randn(2, 3, 16)
    attention(states, states)
    feedforward(states)
    assert calls == ["value", "inner"]


@pytest.mark.parametrize("name", ["transformer", "causal-lm", "transformer feedforward gated"])
def test_updates_are_those_of_layers_that_autograd_adds_up(name, monkeypatch):
    case = CASES[name]
    monkeypatch.setattr(linear.native, "serves", lambda *_: False)
    plain = updated(case)
    monkeypatch.setattr(linear, "serving", SimpleNamespace(serves=lambda _: True))
    monkeypatch.setattr(training_linear, "adding_is_free", lambda _: True)
    found = updated(case)
    for key, value in plain.weights().items():
        if not key.endswith("key.bias"):  # nothing but rounding, which AdamW makes large
            torch.testing.assert_close(found.weights()[key], value, atol=2e-5, rtol=1e-4)


def updated(case: Case) -> Learner:
    learner = learner_of(case, model_of(case))
    for step in (1, 2):
        learner.update(case.batches(case.section), step, 1e-3)
    return learner
