"""Rows of a table and their gradient against torch's, added up in place or not."""

from contextlib import nullcontext

import pytest
import torch

from jumok.kernels import native
from jumok.kernels.cross_entropy import smoothed_cross_entropy
from jumok.kernels.training.embedding import embedded, embedded_plainly
from jumok.kernels.training.gradients import gradients_added_up
from jumok.training.optimization import sliced
from tests.gpu.cases import learner_of, model_of, training
from tests.kernels.twins import assert_twins

needs_kernels = pytest.mark.skipif(native.library() is None, reason="no compiler here")
CASES = dict(training())

TOKENS = torch.tensor([[3, 1, 3], [0, 6, 3]])
"""One of them three times, and some never."""


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("dim", [8, 16, 48])  # the kernel takes multiples of 16
def test_rows_and_their_gradient_are_those_of_the_twin(dim, dtype):
    table = torch.randn(7, dim, generator=torch.Generator().manual_seed(1))
    assert_twins(
        lambda table: embedded(TOKENS, table, 3.0),
        lambda table: embedded_plainly(TOKENS, table, 3.0),
        [table],
        dtype,
    )


def losses_of(table: torch.Tensor) -> torch.Tensor:
    """A table that a model reads twice and writes with, as where all are tied."""
    states = embedded(TOKENS, table, 3.0).sum(dim=1) + embedded(TOKENS.T[:2], table, 3.0).sum(dim=1)
    return smoothed_cross_entropy(states, table, torch.tensor([2, 6]), 0.1) * 0.25


@needs_kernels
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_gradient_of_a_table_is_added_up_in_place_only_where_that_was_asked_for(dtype):
    table = torch.randn(7, 16, generator=torch.Generator().manual_seed(1)).to(dtype)
    table.mul_(0.1).requires_grad_()
    losses_of(table).backward()  # there is no gradient to add to yet
    once = table.grad.clone()
    place = table.grad.data_ptr()
    with gradients_added_up():
        loss = losses_of(table)
    [none] = torch.autograd.grad(loss, [table], retain_graph=True, allow_unused=True)
    assert none is None
    loss.backward()
    assert table.grad.data_ptr() == place
    limit = {torch.float32: 1e-5, torch.bfloat16: 2e-2}[dtype] * float(once.abs().max())
    torch.testing.assert_close(table.grad, 3 * once, atol=3 * limit, rtol=0)
    before = table.grad.clone()
    [given] = torch.autograd.grad(losses_of(table), [table])
    torch.testing.assert_close(given, once)
    assert torch.equal(table.grad, before)


@needs_kernels
def test_a_hook_of_a_table_gets_its_gradient():
    table = torch.randn(7, 16).requires_grad_()
    table.grad, heard = torch.zeros(7, 16), []
    table.register_hook(lambda gradient: heard.append(gradient.clone()))
    with gradients_added_up():
        losses_of(table).backward()
    assert len(heard) == 1
    assert torch.equal(heard[0], table.grad)


@needs_kernels
@pytest.mark.parametrize("name", ["transformer", "causal-lm", "rnn", "masked-lm"])
def test_updates_are_those_of_gradients_that_autograd_adds_up(name, monkeypatch):
    case = CASES[name]
    found = []
    for way in (gradients_added_up, nullcontext):
        monkeypatch.setattr(sliced, "gradients_added_up", way)
        learner = learner_of(case, model_of(case))
        found.append([learner.update(case.batches(case.section), step, 1e-3) for step in (1, 2, 3)])
    for one, other in zip(*found, strict=True):
        assert one.loss == pytest.approx(other.loss, rel=1e-5)
        assert one.gradient_norm == pytest.approx(other.gradient_norm, rel=1e-4)
