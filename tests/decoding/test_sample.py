"""Samples, against the distribution by hand, and the random numbers, against the paper."""

import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from math import exp, inf, nan

import numpy as np
import pytest

from jumok.decoding.limits import Limits
from jumok.decoding.sampling import Draws, Sampling, WrittenCounts, draw_token, repeats
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


@pytest.mark.parametrize(
    "keys",
    [{"temperature": 0.3, "top_k": 2}, {"frequency_penalty": 2.0, "presence_penalty": 2.0}],
    ids=["filters", "penalties"],
)
def test_sampled_log_probabilities_are_the_models_own(keys: dict[str, float]) -> None:
    decoder = CachedTable(mixed_logits, 7)
    (found,) = sample(decoder, sentences(2), Limits(maximum_length=4), SEED, 5, **keys)
    for hypothesis in found:
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


def test_sampling_repeats_with_its_seed(table: MakeTable) -> None:
    memory, limits = sentences(0, 1), Limits(maximum_length=5)
    first = sample(table(), memory, limits, SEED, samples=13)
    assert first == sample(table(), memory, limits, SEED, samples=13)


def test_sampling_says_so_where_logits_are_no_numbers() -> None:
    decoder = CachedTable(lambda _, prefix: [nan] * 5, 5)
    with pytest.raises(ModelError, match="the model gives no probability to any next token"):
        sample(decoder, sentences(0), Limits(maximum_length=3), SEED)


SCORES = np.log(np.array([0.15, 0.5, 0.05, 0.3], np.float32))


def filtered(
    scores: np.ndarray = SCORES,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    min_p: float | None = None,
) -> np.ndarray:
    before = scores.copy()
    found = Sampling(temperature, top_k, top_p, min_p).of(scores)
    assert (scores == before).all()
    return found


def kept(scores: np.ndarray = SCORES, **keys: float) -> list[int]:
    """The tokens that may still come."""
    return np.flatnonzero(filtered(scores, **keys) > -inf).tolist()


def test_what_would_end_a_stretch_again() -> None:
    written = [1, 2, 1, 3, 1, 2]
    assert sorted(set(repeats(written, 1))) == [1, 2, 3]
    assert repeats(written, 2) == [1]  # 2 1
    assert repeats(written, 3) == [1]  # 1 2 1
    assert repeats(written, 4) == []
    assert repeats([4], 3) == []
    assert repeats([4, 5, 6, 4, 5, 7, 4, 5], 3) == [6, 7]


def test_temperature_raises_probabilities_to_its_inverse() -> None:
    # temperature 1/2 squares: 0.0225 0.25 0.0025 0.09, together 0.365
    squared = np.exp(filtered(temperature=0.5))
    shares = (squared / squared.sum()).tolist()
    assert shares == pytest.approx([0.06164, 0.68493, 0.00685, 0.24658], abs=1e-5)


def test_top_k_keeps_the_most_probable() -> None:
    assert kept(top_k=1) == [1]
    assert kept(top_k=3) == [0, 1, 3]
    assert kept(top_k=99) == [0, 1, 2, 3]


def test_top_k_keeps_the_lower_id_of_equals() -> None:
    assert kept(np.array([0, 1, 0, 0, 0, 0, 0], np.float32), top_k=2) == [0, 1]


def test_top_p_keeps_the_fewest_that_hold_the_mass() -> None:
    # in order 0.5, 0.3, 0.15, 0.05
    assert kept(top_p=0.1) == [1]
    assert kept(top_p=0.49) == [1]
    assert kept(top_p=0.51) == [1, 3]
    assert kept(top_p=0.79) == [1, 3]
    assert kept(top_p=0.81) == [0, 1, 3]
    assert kept(top_p=1.0) == [0, 1, 2, 3]


def test_top_p_keeps_a_nucleus_of_many() -> None:
    # 601 tokens of equal probability: 500.5 of them hold 0.83278
    assert kept(np.zeros(601, np.float32), top_p=500.5 / 601) == list(range(501))


def test_top_p_after_top_k_counts_what_is_left() -> None:
    # of 0.5 and 0.3, the first holds 0.625
    assert kept(top_p=0.62, top_k=2) == [1]
    assert kept(top_p=0.63, top_k=2) == [1, 3]


def test_min_p_keeps_what_has_its_share_of_the_highest_probability() -> None:
    # shares of 0.5: 0.3, 1, 0.1, 0.6
    assert kept(min_p=0.61) == [1]
    assert kept(min_p=0.59) == [1, 3]
    assert kept(min_p=0.29) == [0, 1, 3]
    assert kept(min_p=0.09) == [0, 1, 2, 3]
    assert kept(min_p=1.0) == [1]
    assert kept(min_p=0.0) == [0, 1, 2, 3]
    assert kept(np.zeros(3, np.float32), min_p=1.0) == [0, 1, 2]  # all have the highest


def test_penalties_are_openai_s() -> None:
    """By hand: each score less frequency times its count, and presence where there is one."""
    counts = WrittenCounts(frequency=0.5, presence=0.25)
    scores = np.array([1.0, 2.0, 3.0, 4.0], np.float32)
    assert counts.penalized(scores).tolist() == scores.tolist()
    for token in (3, 3, 1, 3):
        counts.note(token)
    assert counts.penalized(scores).tolist() == [1.0, 2.0 - 0.75, 3.0, 4.0 - 1.75]
    assert scores.tolist() == [1.0, 2.0, 3.0, 4.0]
    counts = WrittenCounts(frequency=0.5, presence=0.0, repetition=2.0)
    counts.note(2)
    assert counts.penalized(-scores).tolist() == [-1.0, -2.0, -6.5, -4.0]


WORD = 2**64 - 1
MULTIPLIERS = 0xD2E7470EE14C6C93, 0xCA5A826395121157
BUMPS = 0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B


def philox(counter: int, key: tuple[int, int]) -> list[int]:
    """Philox-4x64 with ten rounds (Salmon et al. 2011, section 3.3 and table 2)."""
    words = [counter >> 64 * place & WORD for place in range(4)]
    first, second = key
    for _ in range(10):
        low, high = (
            multiplier * word for multiplier, word in zip(MULTIPLIERS, words[::2], strict=True)
        )
        words = [
            (high >> 64) ^ words[1] ^ first,
            high & WORD,
            (low >> 64) ^ words[3] ^ second,
            low & WORD,
        ]
        first, second = (first + BUMPS[0]) & WORD, (second + BUMPS[1]) & WORD
    return words


def test_the_paper_s_numbers_for_the_counter_and_the_key_0() -> None:
    """Random123, kat_vectors: philox4x64, 10 rounds."""
    assert philox(0, (0, 0)) == [
        0x16554D9ECA36314C, 0xDB20FE9D672D0FDC, 0xD7E772CEE186176B, 0x7E68B68AEC7BA23B,
    ]  # fmt: skip


@pytest.mark.parametrize(("seed", "place"), [(0, 0), (7, 0), (2**63 - 1, 5), (-1, 2)])
def test_the_numbers_are_those_of_the_seed_the_place_and_the_token(seed: int, place: int) -> None:
    draws = Draws(seed, place)
    expected = [
        (word >> 11) / 2**53
        for counter in range(1, 6)
        for word in philox(counter, (seed % 2**64, place))
    ]
    assert [draws.next() for _ in expected] == expected
    assert all(0 <= each < 1 for each in expected)


@pytest.mark.process
def test_drawing_imports_no_torch() -> None:
    code = (
        "import sys; from jumok.decoding import DecodingOptions as O;"
        "O(sample=True, temperature=0.5, top_k=3, top_p=0.9, min_p=0.1, frequency_penalty=1.0);"
        "print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
