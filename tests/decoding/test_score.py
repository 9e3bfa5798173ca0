from collections.abc import Callable

import pytest

from jumok.decoding.limits import Limits
from jumok.decoding.rank import Ranker, power_length_penalty
from jumok.decoding.score import score_pairs
from jumok.errors import ModelError
from tests.decoding.searches import beam_search
from tests.decoding.tables import CachedTable, Table, log_softmax, mixed_logits, sentences

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
