from collections import Counter
from collections.abc import Callable
from math import exp, nan

import pytest
import torch

from jumok.decoding.filters import temperature, top_k, top_p
from jumok.decoding.limits import Limits
from jumok.decoding.sample import draw, sample
from jumok.errors import ConfigError, ModelError
from tests.decoding.tables import (
    CachedTable,
    Table,
    every_hypothesis,
    log_softmax,
    mixed_logits,
    sentences,
)

MakeTable = Callable[..., Table]


def generator() -> torch.Generator:
    return torch.Generator().manual_seed(11)


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
    (found,) = sample(table(logits), sentences(4), limits, generator(), samples=10_000)
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


def test_filtered_samples_come_as_often_as_the_filters_say() -> None:
    # probabilities 0.1 0.4 0.2 0.3; temperature 1/2 squares: 1 16 4 9 of 30; the best three:
    # 16 4 9 of 29; a nucleus of 0.8 holds 16 and 9 (25 / 29 = 0.86): 16 / 25 and 9 / 25
    scores = torch.tensor([[0.1, 0.4, 0.2, 0.3]]).log().repeat(20_000, 1)
    for apply in (temperature(0.5), top_k(3), top_p(0.8)):
        scores = apply(scores)
    counts = Counter(draw(scores, generator()).tolist())
    assert set(counts) == {1, 3}
    statistic, degrees = chi_square(counts, {1: 16 / 25, 3: 9 / 25})
    assert statistic < bound(degrees)


def test_draw_never_takes_the_impossible() -> None:
    scores = torch.full((10_000, 7), -torch.inf)
    scores[:, 2], scores[:, 4] = 0.0, -20.0
    assert set(draw(scores, generator()).tolist()) <= {2, 4}


def test_sampled_log_probabilities_are_the_models_before_the_filters() -> None:
    decoder = CachedTable(mixed_logits, 7)
    filters = [temperature(0.3), top_k(2)]
    found = sample(decoder, sentences(2), Limits(maximum_length=4), generator(), filters, 5)
    for hypothesis in found[0]:
        sequence = [*hypothesis.tokens, 3][: len(hypothesis.token_log_probabilities)]
        expected = [
            log_softmax(mixed_logits(2, hypothesis.tokens[:n]))[token]
            for n, token in enumerate(sequence)
        ]
        assert hypothesis.token_log_probabilities == pytest.approx(expected, abs=1e-5)


def test_samples_stand_with_their_sentence_and_prefix(table: MakeTable) -> None:
    prefixes = [[4], [], [6, 5]]
    found = sample(
        table(), sentences(0, 1, 2), Limits(maximum_length=4), generator(), (), 7, None, prefixes
    )
    assert [len(samples) for samples in found] == [7, 7, 7]
    for prefix, samples in zip(prefixes, found, strict=True):
        assert all(h.tokens[: len(prefix)] == tuple(prefix) for h in samples)


def test_sampling_repeats_with_its_generator(table: MakeTable) -> None:
    memory, limits = sentences(0, 1), Limits(maximum_length=5)
    first = sample(table(), memory, limits, generator(), samples=13)
    assert first == sample(table(), memory, limits, generator(), samples=13)


def test_sampling_of_no_samples_is_refused() -> None:
    with pytest.raises(ConfigError, match="expected: samples >= 1\n  got:      0"):
        sample(CachedTable(mixed_logits, 7), sentences(0), Limits(), generator(), samples=0)


def test_sampling_says_so_where_logits_are_no_numbers() -> None:
    decoder = CachedTable(lambda _, prefix: [nan] * 5, 5)
    with pytest.raises(ModelError, match="the model gives no probability to any next token"):
        sample(decoder, sentences(0), Limits(maximum_length=3), generator())
