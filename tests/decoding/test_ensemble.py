from math import log

import pytest
import torch

from jumok.decoding.beam import beam_search
from jumok.decoding.ensemble import Ensemble, JointMemory, join_memories, log_mean_probability
from jumok.decoding.greedy import greedy
from jumok.decoding.limits import Limits
from jumok.decoding.score import score_pairs
from jumok.errors import ModelError
from tests.decoding.tables import CachedTable, RecurrentTable, mixed_logits, sentences


def always(*probabilities: float) -> CachedTable:
    """Gives END, 4 and 5 these probabilities whatever was written."""
    logits = [-50.0] * 3 + [log(value) for value in probabilities]
    return CachedTable(lambda _, prefix: logits, 6)


def both(*numbers: int) -> JointMemory:
    return join_memories([sentences(*numbers), sentences(*numbers)])


def test_ensemble_averages_probabilities() -> None:
    # (0.1 + 0.3) / 2 = 0.2; (0.8 + 0.2) / 2 = 0.5; (0.1 + 0.5) / 2 = 0.3
    ensemble = Ensemble([always(0.1, 0.8, 0.1), always(0.3, 0.2, 0.5)])
    logits, _ = ensemble.step(torch.tensor([2]), ensemble.start(both(0)))
    assert logits.exp()[0, 3:].tolist() == pytest.approx([0.2, 0.5, 0.3], abs=1e-6)


def test_ensemble_averages_probabilities_that_float32_cannot_hold() -> None:
    # e^-200 is 0 in float32; the mean of e^-200 and e^-200 is e^-200
    rare = torch.tensor([[0.0, -200.0]])
    assert log_mean_probability([rare, rare])[0, 1].item() == pytest.approx(-200.0, abs=1e-4)


def test_ensemble_of_one_model_twice_is_that_model() -> None:
    limits = Limits(maximum_length=6)
    kinds = [CachedTable(mixed_logits, 7), RecurrentTable(mixed_logits, 7)]
    found = beam_search(Ensemble(kinds), both(*range(7)), 3, limits, nbest=3)
    single = beam_search(CachedTable(mixed_logits, 7), sentences(*range(7)), 3, limits, nbest=3)
    for ours, theirs in zip(found, single, strict=True):
        assert [h.tokens for h in ours] == [h.tokens for h in theirs]
        assert [h.score for h in ours] == pytest.approx([h.score for h in theirs], abs=1e-5)


def test_ensemble_members_read_their_own_memories() -> None:
    # sentence 0 wants 4 surely, sentence 1 wants 5 surely; together each has half
    table = CachedTable(
        lambda sentence, _: [-50.0] * 4 + [50.0 * (1 - sentence), 50.0 * sentence], 6
    )
    memory = join_memories([sentences(0), sentences(1)])
    (found,) = score_pairs(Ensemble([table, table]), memory, [[4]])
    assert found.token_log_probabilities[0] == pytest.approx(log(0.5), abs=1e-6)


def test_joint_memory_selects_in_every_member() -> None:
    chosen = join_memories([sentences(2, 3), sentences(5, 7)]).select(torch.tensor([1, 1, 0]))
    assert [m.states[:, 0, 0].tolist() for m in chosen.members] == [[3, 3, 2], [7, 7, 5]]
    assert torch.equal(chosen.states, chosen.members[0].states)


def test_ensemble_refuses_members_that_do_not_fit() -> None:
    with pytest.raises(ModelError, match=r"expected: one vocabulary size\n  got:      \[7, 6\]"):
        Ensemble([CachedTable(mixed_logits, 7), always(0.2, 0.4, 0.4)])
    with pytest.raises(ModelError, match=r"must read the same sentences.*\n.*\n.*\[1, 2\] rows"):
        join_memories([sentences(0), sentences(0, 1)])
    with pytest.raises(ModelError, match="expected: join_memories of 2 memories\n  got:      1"):
        greedy(Ensemble([always(0.2, 0.4, 0.4)] * 2), sentences(0), Limits())
