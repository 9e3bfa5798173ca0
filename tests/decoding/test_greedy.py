from collections.abc import Callable
from dataclasses import replace
from math import inf, log, nan

import numpy as np
import pytest
import torch

from jumok.decoding import DecodingOptions
from jumok.decoding.limits import Limits
from jumok.decoding.rank import Ranker, power_length_penalty
from jumok.decoding.stepper import NextTokens, Reading, reduced
from jumok.decoding.torch_stepper import lengths_of
from jumok.decoding.writing import WrittenText
from jumok.errors import ConfigError, ModelError
from jumok.models.memory import Memory
from tests.decoding.searches import greedy
from tests.decoding.tables import END, CachedTable, Table, log_softmax, mixed_logits, sentences

MakeTable = Callable[..., Table]


def plain_greedy(
    sentence: int, maximum: int, minimum: int = 0, prefix: tuple[int, ...] = ()
) -> tuple[tuple[int, ...], list[float]]:
    """Tokens and log-probabilities, END's included if it is written, one sentence at a time."""
    tokens: tuple[int, ...] = ()
    values: list[float] = []
    while True:
        logits = mixed_logits(sentence, tokens)
        if len(tokens) < minimum:
            logits[END] = -inf
        scores = log_softmax(logits)
        choices = [token for token in range(len(scores)) if token not in (0, 2)]
        best = max(choices, key=lambda token: scores[token])
        if len(tokens) < len(prefix):
            best = prefix[len(tokens)]
        if best == END:
            return tokens, [*values, scores[END]]
        if len(tokens) == maximum:
            return tokens, values
        tokens, values = (*tokens, best), [*values, scores[best]]


@pytest.mark.parametrize("minimum", [0, 3])
def test_greedy_takes_the_most_probable_token(table: MakeTable, minimum: int) -> None:
    limits = Limits(minimum_length=minimum, maximum_length=7)
    found = greedy(table(), sentences(*range(29)), limits)
    ended = 0
    for sentence, hypothesis in enumerate(found):
        tokens, values = plain_greedy(sentence, 7, minimum)
        assert hypothesis.tokens == tokens
        assert hypothesis.token_log_probabilities == pytest.approx(values, abs=1e-5)
        assert hypothesis.log_probability == pytest.approx(sum(values), abs=1e-5)
        assert hypothesis.finished == (len(values) > len(tokens))
        ended += hypothesis.finished
    assert 0 < ended < 29  # both kinds of ending were seen


def test_greedy_in_a_batch_writes_what_it_writes_alone(table: MakeTable) -> None:
    limits = Limits(maximum_length=7)
    together = greedy(table(), sentences(*range(17)), limits)
    alone = [greedy(table(), sentences(sentence), limits)[0] for sentence in range(17)]
    assert together == alone


def test_greedy_forces_prefixes_of_different_lengths(table: MakeTable) -> None:
    prefixes = [(), (6, 6, 4), (1,), (5, 5), ()]
    found = greedy(table(), sentences(*range(5)), Limits(maximum_length=7), prefixes=prefixes)
    for sentence, (prefix, hypothesis) in enumerate(zip(prefixes, found, strict=True)):
        tokens, values = plain_greedy(sentence, 7, prefix=prefix)
        assert hypothesis.tokens == tokens
        assert hypothesis.token_log_probabilities == pytest.approx(values, abs=1e-5)


def test_greedy_score_is_the_rankers() -> None:
    # 4, then END, each log(1/2): -1.386 over length 2 averages to -0.693
    decoder = CachedTable(
        lambda _, prefix: [-inf, -inf, -inf, *([0.0, -0.001] if prefix else [-0.001, 0.0])], 5
    )
    ranker = Ranker(power_length_penalty(1.0))
    (found,) = greedy(decoder, sentences(0), Limits(maximum_length=3), ranker)
    assert found.tokens == (4,)
    assert found.score == pytest.approx(log(0.5), abs=1e-3)


def test_greedy_keeps_to_each_sentences_maximum_length() -> None:
    allowed = torch.tensor([[True] * 5, [True] * 2 + [False] * 3, [True] + [False] * 4])
    memory = Memory(sentences(0, 1, 2).states, allowed)
    decoder = CachedTable(lambda _, prefix: [0.0, 0.0, 0.0, 1.0, 2.0], 5)  # never END
    limits = Limits(maximum_ratio=1.5, maximum_extra=1, maximum_length=7)
    found = greedy(decoder, memory, limits)
    # floor(7.5) + 1 = 8, over the 7 of all; floor(3.0) + 1 = 4; floor(1.5) + 1 = 2
    assert [len(hypothesis.tokens) for hypothesis in found] == [7, 4, 2]
    assert not any(hypothesis.finished for hypothesis in found)


def test_greedy_takes_finished_rows_out_a_quarter_at_a_time() -> None:
    def logits(sentence: int, prefix: tuple[int, ...]) -> list[float]:
        return [0.0, 0.0, 0.0, 2.0 if len(prefix) >= sentence else 0.0, 1.0]

    decoder = CachedTable(logits, 5)
    found = greedy(decoder, sentences(*range(8)), Limits())
    assert [len(hypothesis.tokens) for hypothesis in found] == list(range(8))
    # out of 8 rows two, out of 6 two, out of 4 one, out of 3 one, out of 2 one
    assert decoder.rows_seen == [8, 8, 6, 6, 4, 3, 2, 1]


def test_greedy_of_no_sentences_is_empty() -> None:
    assert greedy(CachedTable(mixed_logits, 7), sentences(), Limits()) == []


@pytest.mark.parametrize("logits", [[0.0, -inf, -inf, -inf, -inf], [nan] * 5])
def test_greedy_says_so_where_no_token_is_probable(logits: list[float]) -> None:
    decoder = CachedTable(lambda _, prefix: logits, 5)  # PAD alone, and no numbers
    with pytest.raises(ModelError, match="the model gives no probability to any next token"):
        greedy(decoder, sentences(0), Limits(maximum_length=3))


@pytest.mark.parametrize(
    ("prefixes", "text"),
    [
        ([[4]], "expected: 2 prefixes\n  got:      1"),
        ([[], [4, 4, 4, 4]], "prefix of sentence 1 is longer than its target may get"),
        ([[], [7]], "prefix of sentence 1 holds a token outside the vocabulary.*\n.*0 to 6"),
        ([[-1], []], "prefix of sentence 0 holds a token outside the vocabulary"),
        ([[4, 3], []], "prefix of sentence 0 holds the start or the end token"),
    ],
)
def test_greedy_refuses_prefixes_that_cannot_be_forced(
    prefixes: list[list[int]], text: str
) -> None:
    with pytest.raises(ModelError, match=text):
        greedy(
            CachedTable(mixed_logits, 7),
            sentences(0, 1),
            Limits(maximum_length=3),
            prefixes=prefixes,
        )


OPTIONS = DecodingOptions(beam=1)


def step(**reading: object) -> NextTokens:
    """Of probabilities 0.1, 0.2, 0.1, 0.4 and 0.2."""
    scores = np.log(np.array([[[0.1, 0.2, 0.1, 0.4, 0.2]]], np.float32))
    return reduced(scores, [Reading((2,), 0, 0, **reading)])


def probabilities(found: NextTokens) -> list[float]:
    assert found.whole is not None
    return [round(float(value), 4) for value in np.exp(found.whole[0])]


def test_forbidden_tokens_keep_their_probability() -> None:
    """0.2 is that of 1, although PAD and START may not be written."""
    text = WrittenText(replace(OPTIONS, minimum_length=1), 9)
    (reading,) = text.reading()
    assert (reading.without, reading.best) == (3, 3)
    text.advance(step(best=5))
    assert text.tokens == []  # END is the best
    (found,) = text.hypotheses()
    assert found.token_log_probabilities == pytest.approx([log(0.4)])


def test_end_below_the_minimum_length_leaves_its_probability_to_the_others() -> None:
    # 0.2 / (1 - 0.4) = 0.3333
    assert probabilities(step(whole=True, without=3)) == [0.1667, 0.3333, 0.1667, 0.0, 0.3333]
    assert probabilities(step(whole=True)) == [0.1, 0.2, 0.1, 0.4, 0.2]


@pytest.mark.parametrize("share", [0.2, 0.9, 1 - 1e-6])
def test_what_an_improbable_rest_shares_is_precise(share: float) -> None:
    """In float64, by hand: what is left is divided by itself."""
    left = np.array([0.25, 0.75]) * (1 - share)
    scores = np.log(np.array([*left, share])).astype(np.float32)[None, None]
    found = reduced(scores, [Reading((2,), 0, 0, whole=True, without=2)])
    assert probabilities(found) == pytest.approx([0.25, 0.75, 0.0], abs=1e-3)


def test_longest_counts_real_positions() -> None:
    allowed = torch.arange(7) < torch.tensor([[7], [3], [0]])
    memory = Memory(torch.zeros(3, 7, 2), allowed)
    assert [Limits(maximum_length=31).longest_of(n) for n in lengths_of(memory)] == [31, 31, 31]
    # floor(0.5 * n) + 1, at least 2 and at most 31
    limits = Limits(2, 31, maximum_ratio=0.5, maximum_extra=1)
    assert [limits.longest_of(n) for n in lengths_of(memory)] == [4, 2, 2]
    assert lengths_of(Memory(torch.zeros(3, 7, 2))) == [7, 7, 7]
    assert lengths_of(replace(memory, lengths=torch.tensor([2, 5, 1]))) == [2, 5, 1]


def test_end_cannot_be_forbidden() -> None:
    with pytest.raises(ConfigError, match="no sentence could end: the end token is forbidden"):
        Limits(end=2)
