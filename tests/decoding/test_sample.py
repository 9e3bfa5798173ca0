from collections import Counter
from collections.abc import Callable
from math import exp, nan

import numpy as np
import pytest

from jumok.decoding.limits import Limits
from jumok.decoding.sampling import Draws, Sampling, draw_token
from jumok.errors import ModelError
from tests.decoding.searches import sample
from tests.decoding.tables import (
    CachedTable,
    Table,
    every_hypothesis,
    log_softmax,
    mixed_logits,
    sentences,
)

MakeTable = Callable[..., Table]
SEED = 11


def chi_square(counts: dict, probabilities: dict) -> tuple[float, int]:
    """Pearson's statistic and its degrees of freedom; what is too rare to expect 5 is pooled."""
    total = sum(counts.values())
    pooled: dict = {}
    for key, probability in probabilities.items():
        name = key if probability * total >= 5 else "rare"
        seen, expected = pooled.get(name, (0, 0.0))
        pooled[name] = (seen + counts.get(key, 0), expected + probability * total)
    statistic = sum((seen - expected) ** 2 / expected for seen, expected in pooled.values())
    return statistic, len(pooled) - 1


def bound(degrees: int) -> float:
    """Wilson and Hilferty's value that chance exceeds once in 100,000 times."""
    return degrees * (1 - 2 / (9 * degrees) + 4.265 * (2 / (9 * degrees)) ** 0.5) ** 3


def test_samples_come_as_often_as_the_model_says(table: MakeTable) -> None:
    # Forbidding PAD and START leaves the rest of a step's probability to the others.
    def logits(sentence: int, prefix: tuple[int, ...]) -> list[float]:
        values = mixed_logits(sentence, prefix)
        return [-1000.0 if token in (0, 2) else value for token, value in enumerate(values)]

    limits = Limits(maximum_length=2)
    (found,) = sample(table(logits), sentences(4), limits, SEED, samples=10_000)
    counts = Counter((h.tokens, h.finished) for h in found)

    probabilities = {}
    for tokens, total, _ in every_hypothesis(logits, 4, 1):
        if len(tokens) == 1:
            continue
        probabilities[tokens, True] = exp(total)
    first = log_softmax(logits(4, ()))
    for one in (1, 4, 5, 6):
        second = log_softmax(logits(4, (one,)))
        probabilities[(one,), True] = exp(first[one] + second[3])
        for two in (1, 4, 5, 6):
            end = exp(log_softmax(logits(4, (one, two)))[3])
            both = exp(first[one] + second[two])
            probabilities[(one, two), True] = both * end
            probabilities[(one, two), False] = both * (1 - end)
    assert sum(probabilities.values()) == pytest.approx(1.0, abs=1e-6)
    statistic, degrees = chi_square(counts, probabilities)
    assert degrees > 10
    assert statistic < bound(degrees)


def uniform(count: int) -> list[float]:
    """As many numbers, with those at the ends of the range."""
    draws = Draws(SEED)
    return [0.0, 1 - 2**-53, *(draws.next() for _ in range(count - 2))]


def test_filtered_samples_come_as_often_as_the_filters_say() -> None:
    # probabilities 0.1 0.4 0.2 0.3; temperature 1/2 squares: 1 16 4 9 of 30; the best three:
    # 16 4 9 of 29; a nucleus of 0.8 holds 16 and 9 (25 / 29 = 0.86): 16 / 25 and 9 / 25
    scores = np.log(np.array([0.1, 0.4, 0.2, 0.3], np.float32))
    permitted = Sampling(temperature=0.5, top_k=3, top_p=0.8, min_p=None).of(scores)
    counts = Counter(draw_token(permitted, each) for each in uniform(20_000))
    assert set(counts) == {1, 3}
    statistic, degrees = chi_square(counts, {1: 16 / 25, 3: 9 / 25})
    assert statistic < bound(degrees)


def test_draw_never_takes_the_impossible() -> None:
    scores = np.full(7, -np.inf, np.float32)
    scores[2], scores[4] = 0.0, -20.0
    assert {draw_token(scores, each) for each in uniform(10_000)} <= {2, 4}


def test_sampled_log_probabilities_are_the_models_before_the_filters() -> None:
    decoder = CachedTable(mixed_logits, 7)
    limits = Limits(maximum_length=4)
    found = sample(decoder, sentences(2), limits, SEED, 5, temperature=0.3, top_k=2)
    for hypothesis in found[0]:
        sequence = [*hypothesis.tokens, 3][: len(hypothesis.token_log_probabilities)]
        expected = [
            log_softmax(mixed_logits(2, hypothesis.tokens[:n]))[token]
            for n, token in enumerate(sequence)
        ]
        assert hypothesis.token_log_probabilities == pytest.approx(expected, abs=1e-5)


def test_samples_stand_with_their_sentence_and_prefix(table: MakeTable) -> None:
    prefixes = [[4], [], [6, 5]]
    found = sample(table(), sentences(0, 1, 2), Limits(maximum_length=4), SEED, 7, prefixes)
    assert [len(samples) for samples in found] == [7, 7, 7]
    for prefix, samples in zip(prefixes, found, strict=True):
        assert all(h.tokens[: len(prefix)] == tuple(prefix) for h in samples)


@pytest.mark.parametrize("options", [{}, {"frequency_penalty": 1.5, "presence_penalty": 0.5}])
def test_a_row_s_samples_do_not_depend_on_the_other_rows(table: MakeTable, options) -> None:
    """Rows with longer prefixes, or that end earlier, leave the draws of the others as they are."""
    limits, prefixes = Limits(maximum_length=7), [[], [4, 5, 4], [6], [5, 5]]
    whole = sample(table(), sentences(0, 1, 2, 3), limits, SEED, 3, prefixes, **options)
    for count in (1, 2, 3):
        some = sentences(*range(count))
        found = sample(table(), some, limits, SEED, 3, prefixes[:count], **options)
        assert found == whole[:count]
    others = [[], [4], [], []]  # the first row stays where it is
    found = sample(table(), sentences(0, 3, 3, 3), limits, SEED, 3, others, **options)
    assert found[0] == whole[0]
    assert len({h.tokens for samples in whole for h in samples}) > 8


def test_penalties_keep_samples_from_repeating_themselves(table: MakeTable) -> None:
    """Seven tokens, four of which may be written: without a penalty most texts repeat one."""
    limits = Limits(minimum_length=4, maximum_length=4)

    def share_of_new(strength: float) -> float:
        keys = {"frequency_penalty": strength, "presence_penalty": strength}
        (found,) = sample(table(), sentences(2), limits, SEED, 400, **keys)
        return sum(len(set(h.tokens)) for h in found) / sum(len(h.tokens) for h in found)

    plain = share_of_new(0.0)
    assert share_of_new(2.0) > plain + 0.1
    assert share_of_new(-2.0) < plain - 0.1


def test_sampled_log_probabilities_are_the_models_before_penalties() -> None:
    decoder = CachedTable(mixed_logits, 7)
    keys = {"frequency_penalty": 2.0, "presence_penalty": 2.0}
    (found,) = sample(decoder, sentences(2), Limits(maximum_length=4), SEED, 5, **keys)
    for hypothesis in found:
        sequence = [*hypothesis.tokens, 3][: len(hypothesis.token_log_probabilities)]
        expected = [
            log_softmax(mixed_logits(2, hypothesis.tokens[:n]))[token]
            for n, token in enumerate(sequence)
        ]
        assert hypothesis.token_log_probabilities == pytest.approx(expected, abs=1e-5)


def test_sampling_repeats_with_its_seed(table: MakeTable) -> None:
    memory, limits = sentences(0, 1), Limits(maximum_length=5)
    first = sample(table(), memory, limits, SEED, samples=13)
    assert first == sample(table(), memory, limits, SEED, samples=13)


def test_sampling_says_so_where_logits_are_no_numbers() -> None:
    decoder = CachedTable(lambda _, prefix: [nan] * 5, 5)
    with pytest.raises(ModelError, match="the model gives no probability to any next token"):
        sample(decoder, sentences(0), Limits(maximum_length=3), SEED)
