from collections.abc import Callable
from math import log

import numpy as np
import pytest
import torch

from jumok.decoding import DecodingOptions, Hypothesis, decode
from jumok.decoding.limits import Limits
from jumok.decoding.methods import decode_with
from jumok.decoding.native import mean_log_probability
from jumok.decoding.rank import Ranker, joint_scores, power_length_penalty
from jumok.decoding.score import score_pairs
from jumok.decoding.stepper import Ensemble, Reading
from jumok.decoding.torch_stepper import TorchStepper
from jumok.errors import ModelError
from tests.decoding.searches import beam_search
from tests.decoding.tables import (
    CachedTable,
    RecurrentTable,
    Table,
    log_softmax,
    mixed_logits,
    sentences,
)


def always(*probabilities: float) -> CachedTable:
    """Gives END, 4 and 5 these probabilities whatever was written."""
    logits = [-50.0] * 3 + [log(value) for value in probabilities]
    return CachedTable(lambda _, prefix: logits, 6)


def joint(*tables: CachedTable, numbers: tuple[int, ...] = (0,)) -> Ensemble:
    return Ensemble([TorchStepper(table, sentences(*numbers)) for table in tables])


def test_an_ensemble_averages_probabilities() -> None:
    # (0.1 + 0.3) / 2 = 0.2; (0.8 + 0.2) / 2 = 0.5; (0.1 + 0.5) / 2 = 0.3
    step = joint(always(0.1, 0.8, 0.1), always(0.3, 0.2, 0.5)).step(
        [(0, Reading((2,), 0, 0, best=3))]
    )
    assert step.tokens.tolist() == [[4, 5, 3]]
    assert np.exp(step.values)[0].tolist() == pytest.approx([0.5, 0.3, 0.2], abs=1e-6)


def test_probabilities_that_float32_cannot_hold_are_averaged() -> None:
    # e^-200 is 0 in float32; the mean of e^-200 and e^-200 is e^-200; the mean of 0 and 0 is 0
    rare = np.array([[[0.0, -200.0, -np.inf]]], np.float32)
    stepper = TorchStepper(always(0.2, 0.4, 0.4), sentences(0))
    for mean in (mean_log_probability([rare] * 2), stepper.mean([torch.tensor(rare)] * 2).numpy()):
        assert mean[0, 0, :2].tolist() == pytest.approx([0.0, -200.0], abs=1e-4)
        assert mean[0, 0, 2] < -1e30


def test_an_ensemble_of_one_model_twice_is_that_model() -> None:
    options = DecodingOptions(beam=3, nbest=3, maximum_length=6, length_penalty=0.0)
    tables = CachedTable(mixed_logits, 7), RecurrentTable(mixed_logits, 7)
    found = decode_with(joint(*tables, numbers=tuple(range(7))), [5] * 7, options)
    single = decode(CachedTable(mixed_logits, 7), sentences(*range(7)), options)
    for ours, theirs in zip(found, single, strict=True):
        assert [h.tokens for h in ours] == [h.tokens for h in theirs]
        assert [h.score for h in ours] == pytest.approx([h.score for h in theirs], abs=1e-5)


def test_members_score_targets_with_their_own_memories() -> None:
    # sentence 0 wants 4 surely, sentence 1 wants 5 surely; together each has half
    table = CachedTable(
        lambda sentence, _: [-50.0] * 4 + [50.0 * (1 - sentence), 50.0 * sentence], 6
    )
    members = [score_pairs(table, sentences(number), [[4]]) for number in (0, 1)]
    (found,) = joint_scores(members, Ranker())
    assert isinstance(found, Hypothesis)
    assert found.token_log_probabilities[0] == pytest.approx(log(0.5), abs=1e-6)


def test_an_ensemble_refuses_members_that_do_not_fit() -> None:
    with pytest.raises(ModelError, match=r"expected: one vocabulary size\n  got:      \[7, 6\]"):
        joint(CachedTable(mixed_logits, 7), always(0.2, 0.4, 0.4))


MakeTable = Callable[..., Table]


def test_score_of_given_targets_is_the_models() -> None:
    targets = [[4, 6, 5], [], [1]]
    found = score_pairs(CachedTable(mixed_logits, 7), sentences(2, 3, 5), targets)
    for sentence, target, hypothesis in zip((2, 3, 5), targets, found, strict=True):
        expected = [
            log_softmax(mixed_logits(sentence, tuple(target[:n])))[token]
            for n, token in enumerate([*target, 3])
        ]
        assert hypothesis.tokens == tuple(target)
        assert hypothesis.token_log_probabilities == pytest.approx(expected, abs=1e-5)
        assert hypothesis.finished


def test_score_of_what_the_beam_found_is_the_beams(table: MakeTable) -> None:
    ranker = Ranker(power_length_penalty(1.0))
    found = beam_search(table(), sentences(*range(11)), 4, Limits(maximum_length=8), ranker)
    finished = [(row, best) for row, (best,) in enumerate(found) if best.finished]
    assert len(finished) > 5
    memory = sentences(*[row for row, _ in finished])
    again = score_pairs(table(), memory, [best.tokens for _, best in finished], ranker)
    for (_, best), scored in zip(finished, again, strict=True):
        assert scored.score == pytest.approx(best.score, abs=1e-5)


def test_score_of_nothing_is_nothing() -> None:
    assert score_pairs(CachedTable(mixed_logits, 7), sentences(), []) == []


@pytest.mark.parametrize(
    ("targets", "text"),
    [
        ([[4]], "every source needs a target.\n  expected: 2 targets\n  got:      1"),
        ([[4], [9]], "target 1 holds a token outside the vocabulary"),
        ([[4, 3], [4]], "target 0 holds the start or the end token"),
    ],
)
def test_score_refuses_targets_that_do_not_fit(targets: list[list[int]], text: str) -> None:
    with pytest.raises(ModelError, match=text):
        score_pairs(CachedTable(mixed_logits, 7), sentences(0, 1), targets)
