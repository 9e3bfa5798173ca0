"""Recorded passes compute what passes that are not recorded compute, with the same bits.

The recorder here calls the work again; that a GPU replays it is tried on one (tests/gpu).
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import nn

from jumok.attention.events import Listener, listening_to
from jumok.training.devices.cuda_graphs import BEFORE, COUNTS, MOST_RECORDED, CudaGraphs
from jumok.training.learner import Learner
from tests.gpu.cases import Case, learner_of, model_of, training
from tests.training.tiny import assert_same_bits

CASES = dict(training())


class Recorder:
    """Counts what is recorded and what is computed again."""

    def __init__(self) -> None:
        self.recorded = self.again = 0

    def __call__(self, work: Callable[[], torch.Tensor]) -> tuple[Callable[[], None], torch.Tensor]:
        self.recorded += 1
        sums = torch.zeros(2, dtype=torch.float64)

        def again() -> None:
            self.again += 1
            sums.copy_(work())

        return again, sums


def recording(case: Case) -> tuple[Learner, Recorder]:
    learner, recorder = learner_of(case, model_of(case)), Recorder()
    learner.recorded = CudaGraphs(recorder)
    return learner, recorder


@pytest.mark.parametrize("name", CASES)
def test_every_kind_of_update_has_the_bits_of_one_that_is_not_recorded(name):
    case = CASES[name]
    learner, recorder = recording(case)
    plain = learner_of(case, model_of(case))
    for step in range(1, BEFORE + 4):
        # What is recorded must not depend on numbers that differ from batch to batch.
        for recorded in learner.recorded._recorded.values():
            vars(recorded.batch).update(dict.fromkeys(COUNTS, 10**6))
        batches = case.batches(case.section)
        actual, expected = (each.update(batches, step, 1e-3) for each in (learner, plain))
        assert actual == expected
    assert recorder.recorded >= 1
    assert recorder.again >= 2
    assert_same_bits(learner.state(), plain.state())


def test_a_recorded_pass_reads_the_batch_that_it_is_given():
    case = CASES["transformer"]
    learner, recorder = recording(case)
    plain = learner_of(case, model_of(case))
    for step in range(1, BEFORE + 5):
        batches = case.batches(case.section)[:1]
        batches[0].source.add_(step)
        actual, expected = (each.update(batches, step, 1e-3) for each in (learner, plain))
        assert actual == expected
    assert (recorder.recorded, recorder.again) == (1, 4)


def test_only_so_many_shapes_are_recorded():
    case = CASES["causal-lm"]
    learner, recorder = recording(case)
    for step in range(1, BEFORE + 2):
        for length in range(1, MOST_RECORDED + 3):
            [batch, _] = case.batches(case.section)
            short = type(batch)(
                batch.tokens[:, :length].clone(), batch.following[:, :length].clone(), None, 1
            )
            learner.update([short], step, 1e-3)
    assert recorder.recorded == MOST_RECORDED


def watched(model: nn.Module) -> AbstractContextManager[None]:
    return listening_to(model, {"encode": Listener(lambda *_: None)})


def test_a_hook_or_a_listener_gets_passes_that_are_not_recorded():
    case = CASES["transformer"]
    learner, recorder = recording(case)
    model = learner._weights._replicas[0].model
    calls: list[object] = []
    with watched(model):
        for step in range(1, BEFORE + 2):
            learner.update(case.batches(case.section), step, 1e-3)
    handle = next(iter(model.children())).register_forward_hook(lambda *_: calls.append(1))
    for step in range(1, BEFORE + 2):
        learner.update(case.batches(case.section), step, 1e-3)
    assert len(calls) >= BEFORE + 1
    assert recorder.recorded == 0
    handle.remove()
    for step in range(1, BEFORE + 2):
        learner.update(case.batches(case.section), step, 1e-3)
    assert recorder.recorded == 2


def test_experts_are_not_recorded():
    case = CASES["causal-lm"]
    mixed = replace(case, section=case.section.model_copy(update={"experts": 2}))
    learner, recorder = recording(mixed)
    for step in range(1, BEFORE + 2):
        learner.update(case.batches(case.section), step, 1e-3)
    assert recorder.recorded == 0


def test_what_cannot_be_recorded_is_computed_as_before_and_says_so():
    case = CASES["transformer"]
    plain = learner_of(case, model_of(case))

    def waits(model: nn.Module, batch: Any, smoothing: float) -> torch.Tensor:
        loss = case.objective(model, batch, smoothing)
        if model.noise._seeds is not None:  # in a pass that is being recorded, after its masks
            raise RuntimeError("operation not permitted when stream is capturing. Compile with x.")
        return loss

    learner = learner_of(replace(case, objective=waits), model_of(case))
    learner.recorded = CudaGraphs(lambda work: (lambda: None, work()))
    for step in range(1, BEFORE + 3):
        batches = case.batches(case.section)
        expected = plain.update(batches, step, 1e-3)
        if step == BEFORE + 1:
            with pytest.warns(match=r"not permitted when stream is capturing.*cuda_graphs = false"):
                actual = learner.update(batches, step, 1e-3)
        else:
            actual = learner.update(batches, step, 1e-3)
        assert actual == expected
