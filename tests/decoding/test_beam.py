from collections.abc import Callable
from math import inf, log, nan

import numpy as np
import pytest
import torch

from jumok.decoding.limits import Limits
from jumok.decoding.rank import (
    LengthPenalty,
    Ranker,
    google_length_penalty,
    log_coverage,
    power_length_penalty,
)
from jumok.errors import ConfigError, ModelError
from tests.decoding.searches import beam_search, greedy
from tests.decoding.tables import (
    END,
    CachedTable,
    Table,
    every_hypothesis,
    mixed_logits,
    sentences,
)

MakeTable = Callable[..., Table]
EVERYTHING = 4**4  # more than the hypotheses of 4 tokens and END up to length 3: 1 + 4 + 16 + 64

PENALTIES = {
    "none": google_length_penalty(0.0),
    "google": google_length_penalty(0.6),
    "average": power_length_penalty(1.0),
    "short": power_length_penalty(-0.5),
}


def ranked(
    sentence: int, maximum: int, penalty: LengthPenalty, minimum: int = 0
) -> list[tuple[tuple[int, ...], float, bool]]:
    """All hypotheses with their scores, the finished before the cut, best first."""
    rated = [
        (tokens, total / penalty(max(len(tokens) + finished, 1)), finished)
        for tokens, total, finished in every_hypothesis(mixed_logits, sentence, maximum, minimum)
    ]
    return sorted(rated, key=lambda each: (not each[2], -each[1]))


@pytest.mark.parametrize("name", PENALTIES)
def test_beam_as_wide_as_the_space_lists_every_hypothesis_in_order(
    table: MakeTable, name: str
) -> None:
    found = beam_search(
        table(),
        sentences(2, 5),
        EVERYTHING,
        Limits(maximum_length=3),
        Ranker(PENALTIES[name]),
        nbest=EVERYTHING,
        patience=None,
    )
    for sentence, hypotheses in zip((2, 5), found, strict=True):
        expected = ranked(sentence, 3, PENALTIES[name])
        assert len(hypotheses) == 1 + 4 + 16 + 64
        assert [h.finished for h in hypotheses] == [finished for *_, finished in expected]
        assert [h.score for h in hypotheses] == pytest.approx([s for _, s, _ in expected], abs=1e-5)
        by_tokens = {tokens: score for tokens, score, _ in expected}
        for hypothesis in hypotheses:
            assert hypothesis.score == pytest.approx(by_tokens[hypothesis.tokens], abs=1e-5)


@pytest.mark.parametrize("name", PENALTIES)
@pytest.mark.parametrize("minimum", [0, 2])
def test_early_stop_loses_none_of_the_best(table: MakeTable, name: str, minimum: int) -> None:
    limits = Limits(minimum_length=minimum, maximum_length=4)
    found = beam_search(
        table(), sentences(*range(11)), 5**4, limits, Ranker(PENALTIES[name]), 3, None
    )
    for sentence, hypotheses in enumerate(found):
        expected = ranked(sentence, 4, PENALTIES[name], minimum)[:3]
        assert [h.tokens for h in hypotheses] == [tokens for tokens, *_ in expected]


def test_early_stop_ends_before_the_maximum_length() -> None:
    # END has 0.9 of the probability everywhere: after () with log 0.9, no live hypothesis can
    # have more than log 0.1
    decoder = CachedTable(lambda _, prefix: [-inf, -inf, -inf, log(0.9), log(0.1)], 5)
    best = beam_search(decoder, sentences(0), 2, Limits(maximum_length=50), patience=None)
    assert best[0][0].tokens == ()
    assert len(decoder.rows_seen) == 1


@pytest.mark.parametrize("strength", [0.0, 1.0, -1.0])
def test_beam_of_one_is_greedy(table: MakeTable, strength: float) -> None:
    memory, limits = sentences(*range(23)), Limits(maximum_length=6)
    ranker = Ranker(google_length_penalty(strength))
    beams = beam_search(table(), memory, 1, limits, ranker)
    assert [hypotheses[0] for hypotheses in beams] == greedy(table(), memory, limits, ranker)


def test_beam_in_a_batch_finds_what_it_finds_alone(table: MakeTable) -> None:
    limits, ranker = Limits(maximum_length=7), Ranker(google_length_penalty(0.6))
    together = beam_search(table(), sentences(*range(13)), 3, limits, ranker, nbest=3)
    for sentence in range(13):
        assert beam_search(table(), sentences(sentence), 3, limits, ranker, nbest=3) == [
            together[sentence]
        ]


def test_beam_drops_settled_sentences_from_the_computation() -> None:
    def logits(sentence: int, prefix: tuple[int, ...]) -> list[float]:
        over = len(prefix) >= sentence
        return [0.0, 0.0, 0.0, 9.0 if over else -9.0, 1.0, 0.5]

    decoder = CachedTable(logits, 6)
    found = beam_search(decoder, sentences(0, 1, 3), 2, Limits(maximum_length=9), patience=None)
    assert [len(best.tokens) for (best,) in found] == [0, 1, 3]
    assert decoder.rows_seen == [3, 4, 2, 2]


def test_beam_prefers_the_finished_garden_path() -> None:
    # greedy takes 4 (0.6) and then nothing better than 0.3; the beam finds 5 END = 0.4 * 0.9
    def logits(sentence: int, prefix: tuple[int, ...]) -> list[float]:
        if prefix == ():
            return [-inf, -inf, -inf, -inf, log(0.6), log(0.4)]
        if prefix == (5,):
            return [-inf, -inf, -inf, log(0.9), log(0.05), log(0.05)]
        return [-inf, -inf, -inf, log(0.3), log(0.4), log(0.3)]

    found = beam_search(CachedTable(logits, 6), sentences(0), 2, Limits(maximum_length=5))
    assert found[0][0].tokens == (5,)
    assert found[0][0].log_probability == pytest.approx(log(0.36), abs=1e-6)
    assert found[0][0].token_log_probabilities == pytest.approx([log(0.4), log(0.9)], abs=1e-6)


def test_beam_breaks_ties_by_hypothesis_then_by_token() -> None:
    # All tokens equal. First step: 1, END, 4, 5; END finishes () and 1, 4 stay. Second step:
    # (1, 1), (1,) END, (1, 4), (1, 5) come before all that follow (4,).
    decoder = CachedTable(lambda _, prefix: [0.0] * 7, 7)
    found = beam_search(decoder, sentences(0), 2, Limits(maximum_length=5), nbest=2)
    assert [hypothesis.tokens for hypothesis in found[0]] == [(), (1,)]


def test_length_penalty_turns_the_order_round() -> None:
    # () has log 0.3 = -1.204 over length 1; (4,) has log(0.7 * 0.4) = -1.273 over length 2.
    # google, alpha 1: -1.204 / (6/6) = -1.204 and -1.273 / (7/6) = -1.091
    def logits(sentence: int, prefix: tuple[int, ...]) -> list[float]:
        end = 0.4 if prefix else 0.3
        return [-inf, -inf, -inf, log(end), log(1 - end)]

    def search(strength: float, maximum: int) -> list[tuple[tuple[int, ...], float]]:
        ranker, limits = Ranker(google_length_penalty(strength)), Limits(maximum_length=maximum)
        (found,) = beam_search(CachedTable(logits, 5), sentences(0), 3, limits, ranker, 2, None)
        return [(hypothesis.tokens, round(hypothesis.score, 3)) for hypothesis in found]

    assert search(0.0, maximum=2) == [((), -1.204), ((4,), -1.273)]
    assert search(1.0, maximum=2) == [((4,), -1.091), ((), -1.204)]
    # At a maximum length of 1 END is not the best that follows (4,): it is cut, and comes last.
    assert search(0.0, maximum=1) == [((), -1.204), ((4,), -0.357)]


def test_sentence_that_cannot_end_is_cut_and_disturbs_nobody(table: MakeTable) -> None:
    def logits(sentence: int, prefix: tuple[int, ...]) -> list[float]:
        values = mixed_logits(sentence, prefix)
        return [-inf if token == END and sentence == 1 else v for token, v in enumerate(values)]

    limits = Limits(maximum_length=6)
    found = beam_search(table(logits), sentences(0, 1, 2), 3, limits, nbest=3)
    assert [len(hypothesis.tokens) for hypothesis in found[1]] == [6, 6, 6]
    assert not any(hypothesis.finished for hypothesis in found[1])
    assert [len(hypothesis.token_log_probabilities) for hypothesis in found[1]] == [6, 6, 6]
    assert [found[0], found[2]] == beam_search(table(), sentences(0, 2), 3, limits, nbest=3)


def test_beam_keeps_to_each_sentences_maximum_length(table: MakeTable) -> None:
    memory = sentences(0, 1, 2)
    allowed = torch.tensor([[True] * 5, [True] * 2 + [False] * 3, [True] * 3 + [False] * 2])
    memory = type(memory)(memory.states, allowed)
    limits = Limits(minimum_length=2, maximum_ratio=1.0, maximum_extra=1)
    found = beam_search(table(), memory, 4, limits, nbest=4, patience=None)
    for sentence, (hypotheses, most) in enumerate(zip(found, (6, 3, 4), strict=True)):
        assert {len(hypothesis.tokens) for hypothesis in hypotheses} <= set(range(2, most + 1))
        alone = beam_search(
            table(), sentences(sentence), 4, Limits(2, maximum_length=most), nbest=4, patience=None
        )
        assert [hypotheses] == alone


def test_beam_forces_prefixes_of_different_lengths(table: MakeTable) -> None:
    prefixes = [[4, 6], [], [5]]
    limits, wide = Limits(maximum_length=3), EVERYTHING
    found = beam_search(
        table(), sentences(0, 1, 2), wide, limits, nbest=wide, patience=None, prefixes=prefixes
    )
    for sentence, (prefix, hypotheses) in enumerate(zip(prefixes, found, strict=True)):
        expected = [
            each
            for each in ranked(sentence, 3, PENALTIES["none"])
            if each[0][: len(prefix)] == tuple(prefix)
        ]
        assert [h.tokens for h in hypotheses] == [tokens for tokens, *_ in expected]
        assert [h.score for h in hypotheses] == pytest.approx([s for _, s, _ in expected], abs=1e-5)


def test_forced_prefix_may_hold_what_is_forbidden(table: MakeTable) -> None:
    limits = Limits(maximum_length=4, forbidden=(0, 2, 5))
    found = beam_search(table(), sentences(3), 3, limits, nbest=3, prefixes=[[5]])
    for hypothesis in found[0]:
        assert hypothesis.tokens[0] == 5
        assert 5 not in hypothesis.tokens[1:]
        assert hypothesis.token_log_probabilities[0] > -10


def test_beam_takes_more_hypotheses_than_the_vocabulary_has() -> None:
    decoder = CachedTable(lambda _, prefix: [0.0, 0.0, 0.0, 1.0, 0.0], 5)
    (found,) = beam_search(
        decoder, sentences(0), 11, Limits(maximum_length=4, forbidden=(0, 1, 2)), nbest=11
    )
    assert [hypothesis.tokens for hypothesis in found] == [(4,) * n for n in range(5)]


def test_beam_of_no_sentences_is_empty() -> None:
    assert beam_search(CachedTable(mixed_logits, 7), sentences(), 3, Limits()) == []


def test_a_coverage_penalty_needs_attention() -> None:
    ranker = Ranker(coverage_penalty=0.2)
    with pytest.raises(ConfigError, match="needs the model's attention weights"):
        beam_search(CachedTable(mixed_logits, 7), sentences(0), 2, Limits(), ranker)


@pytest.mark.parametrize("logits", [[0.0, -inf, -inf, -inf, -inf], [nan] * 5])
def test_beam_says_so_where_no_token_is_probable(logits: list[float]) -> None:
    decoder = CachedTable(lambda _, prefix: logits, 5)  # PAD alone, and no numbers
    with pytest.raises(ModelError, match="got:      no hypothesis for sentence 0"):
        beam_search(decoder, sentences(0), 2, Limits(maximum_length=3))


def test_google_length_penalty_by_hand() -> None:
    # ((5 + 7) / 6) ** 0.5 = 1.41421; alpha 0 ranks by log-probability
    assert google_length_penalty(0.5)(7) == pytest.approx(1.41421, abs=1e-5)
    assert google_length_penalty(1.0)(1) == 1.0
    assert google_length_penalty(0.0)(99) == 1.0


def test_power_length_penalty_of_one_is_the_average() -> None:
    assert power_length_penalty(1.0)(7) == 7.0
    assert power_length_penalty(2.0)(3) == 9.0


def test_log_coverage_by_hand() -> None:
    # Attention 1.5, 0.5, 0.25, and a padded position: log 1 + log 0.5 + log 0.25 = -2.0794
    attention = np.array([[1.5, 0.5, 0.25, 0.0]], np.float32)
    allowed = np.array([True, True, True, False])
    assert log_coverage(attention, allowed).item() == pytest.approx(log(0.125), abs=1e-6)
    # all four are real: the ignored one counts as 1e-6, log = -13.8155
    assert log_coverage(attention, None).item() == pytest.approx(-15.8950, abs=1e-4)


def test_score_by_hand() -> None:
    # -1 - 2 - 0.5 = -3.5 over ((5 + 3) / 6) ** 1 = 4/3, and 0.2 * log 0.5
    ranker = Ranker(google_length_penalty(1.0), coverage_penalty=0.2)
    hypothesis = ranker.rate([4, 5], [-1.0, -2.0, -0.5], log_coverage=log(0.5))
    assert hypothesis.finished
    assert hypothesis.log_probability == -3.5
    assert hypothesis.score == pytest.approx(-2.625 - 0.138629, abs=1e-6)
    assert not ranker.rate([4, 5], [-1.0, -2.0]).finished


def test_penalties_stand_at_their_lengths() -> None:
    expected = [1.0, 1.0, 7 / 6, 8 / 6]
    assert Ranker(google_length_penalty(1.0)).penalties(2).tolist() == pytest.approx(expected)


@pytest.mark.parametrize("value", [nan, -inf])
def test_ranker_refuses_what_is_no_probability(value: float) -> None:
    with pytest.raises(ModelError, match="look for NaN in the model's weights"):
        Ranker().rate([4], [value, -1.0])
