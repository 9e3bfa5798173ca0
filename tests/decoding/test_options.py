from dataclasses import replace
from math import inf

import pytest

from jumok.attention.heard import Ear, listening_to
from jumok.decoding import DecodingOptions, decode
from jumok.decoding.beam import CANDIDATES, beam_search
from jumok.decoding.filters import Penalties, most_probable, temperature, top_k, top_p
from jumok.decoding.greedy import greedy
from jumok.decoding.limits import Limits
from jumok.decoding.rank import Ranker, google_length_penalty, power_length_penalty
from jumok.decoding.sample import sample
from jumok.decoding.stream import stream
from jumok.errors import ConfigError
from tests.decoding.tables import CachedTable, log_softmax, mixed_logits, sentences

MEMORY = sentences(*range(5))


def table() -> CachedTable:
    return CachedTable(mixed_logits, 7)


def test_decode_with_a_beam_of_one_is_greedy() -> None:
    options = DecodingOptions(beam=1, length_penalty=1.0, length_rule="power", maximum_length=6)
    ranker = Ranker(power_length_penalty(1.0))
    expected = greedy(table(), MEMORY, Limits(maximum_length=6), ranker)
    assert decode(table(), MEMORY, options) == [[best] for best in expected]


def test_decode_searches_with_the_beam_asked_for() -> None:
    options = DecodingOptions(
        beam=4, nbest=2, length_penalty=0.8, patience=2.0, minimum_length=1, maximum_length=6
    )
    prefixes = [[], [4], [], [5, 5], []]
    limits, ranker = Limits(1, 6), Ranker(google_length_penalty(0.8))
    assert decode(table(), MEMORY, options, prefixes) == beam_search(
        table(), MEMORY, 4, limits, ranker, 2, 2.0, prefixes
    )


def test_the_candidates_of_a_beam_of_one_are_reported() -> None:
    """Greedy decoding has no candidates: with a listener, a beam of one is searched."""
    decoder, seen = table(), []
    options = DecodingOptions(beam=1, maximum_length=6)
    with listening_to(decoder, {CANDIDATES: Ear(seen.append)}):
        found = decode(decoder, MEMORY, options)
        decode(table(), MEMORY, options)  # another decoder
    limits, ranker = options.limits(), options.ranker()
    assert found == beam_search(table(), MEMORY, 1, limits, ranker)
    assert all(len(step.tokens[0]) == 2 for step in seen)  # 2 candidates for each place
    kept = [
        int(step.tokens[row][step.kept[row]])
        for step in seen
        for row, sentence in enumerate(step.sentences.tolist())
        if sentence == 0 and step.kept[row].any()
    ]
    assert kept == list(found[0][0].tokens)


def test_decode_samples_with_its_seed() -> None:
    options = DecodingOptions(
        sample=True,
        nbest=3,
        length_penalty=0.6,
        temperature=0.7,
        top_k=4,
        top_p=0.9,
        maximum_length=6,
        seed=5,
    )
    filters = [temperature(0.7), top_k(4), top_p(0.9)]
    ranker = Ranker(google_length_penalty(0.6))
    assert decode(table(), MEMORY, options) == sample(
        table(), MEMORY, Limits(maximum_length=6), 5, filters, 3, ranker
    )


@pytest.mark.parametrize("prefixes", [None, [[], [4, 4], [], [5, 6, 5], [4]]])
def test_decode_with_penalties(prefixes) -> None:
    """Greedy decoding, by hand: what was written after the forced beginning costs 0.5 a time."""
    options = DecodingOptions(beam=1, maximum_length=7, frequency_penalty=0.5)
    found = decode(table(), MEMORY, options, prefixes)
    for row, [best] in enumerate(found):
        prefix = [] if prefixes is None else prefixes[row]
        tokens = list(prefix)
        while len(tokens) < 7:
            scores = log_softmax(mixed_logits(row, tuple(tokens)))
            penalised = [
                value - 0.5 * tokens[len(prefix) :].count(token) if token not in (0, 2) else -inf
                for token, value in enumerate(scores)
            ]
            token = penalised.index(max(penalised))
            if token == 3:
                break
            tokens.append(token)
        assert list(best.tokens) == tokens
    plain = decode(table(), MEMORY, replace(options, frequency_penalty=0.0), prefixes)
    assert [each[0].tokens for each in found] != [each[0].tokens for each in plain]
    sampled = replace(options, sample=True, presence_penalty=1.0, min_p=0.1, seed=3)
    expected = sample(
        table(), MEMORY, Limits(maximum_length=7), 3, sampled.filters(), 1,
        sampled.ranker(), prefixes, Penalties(0.5, 1.0),
    )  # fmt: skip
    assert decode(table(), MEMORY, sampled, prefixes) == expected


def test_penalties_and_constraints_exclude_each_other() -> None:
    options = DecodingOptions(beam=1, presence_penalty=1.0)
    constraints = [[((4,),)] for _ in range(5)]
    with pytest.raises(ConfigError, match="leave out frequency_penalty and presence_penalty"):
        decode(table(), MEMORY, options, constraints=constraints)


@pytest.mark.parametrize("count", [2, 3])
def test_no_stretch_is_written_twice_however_one_decodes(count) -> None:
    """Of six tokens that may be written hypotheses of fifteen would repeat themselves."""

    def repeats(tokens: list[int], count: int) -> bool:
        stretches = [tuple(tokens[i : i + count]) for i in range(len(tokens) - count + 1)]
        return len(set(stretches)) < len(stretches)

    plain = DecodingOptions(beam=3, nbest=3, minimum_length=5, maximum_length=15)
    for options in (plain, replace(plain, beam=1, nbest=1), replace(plain, sample=True)):
        written = [
            best.tokens
            for repeating in (0, count)
            for of_row in decode(table(), MEMORY, replace(options, no_repeat_ngram=repeating))
            for best in of_row
        ]
        middle = len(written) // 2
        assert any(repeats(tokens, count) for tokens in written[:middle])
        assert not any(repeats(tokens, count) for tokens in written[middle:])


def test_a_streamed_text_repeats_nothing_either() -> None:
    """It is what `greedy` writes, after a beginning and without one."""
    limits = Limits(maximum_length=15, no_repeat_ngram=2)
    for row, prefix in ((0, []), (2, [4, 5, 4])):
        memory = sentences(row)
        (expected,) = greedy(table(), memory, limits, prefixes=[prefix])
        streamed = list(stream(table(), memory, limits, most_probable, prefix))
        assert (*prefix, *streamed) == expected.tokens


def test_decode_with_a_coverage_penalty_needs_attention() -> None:
    with pytest.raises(ConfigError, match="needs the model's attention weights"):
        decode(table(), MEMORY, DecodingOptions(beam=1, coverage_penalty=0.1))


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"beam": 0}, "expected: beam >= 1 and nbest >= 1"),
        ({"beam": 2, "nbest": 3}, "expected: nbest <= 2"),
        ({"sample": True, "nbest": 0}, "expected: beam >= 1 and nbest >= 1"),
        ({"sample": True, "temperature": -0.5}, "expected: temperature > 0"),
        ({"top_p": 1.2}, "expected: 0 < top_p <= 1"),
        ({"top_k": 0}, "expected: top_k >= 1"),
        ({"min_p": 2.0}, "expected: 0 <= min_p <= 1"),
        ({"beam": 1, "frequency_penalty": 2.5}, "the frequency penalty is out of range"),
        ({"beam": 1, "presence_penalty": -3.0}, "the presence penalty is out of range"),
        ({"beam": 4, "presence_penalty": 1.0}, "need greedy decoding or sampling"),
        (
            {"beam": 1, "coverage_penalty": 1.0, "frequency_penalty": 1.0},
            "set beam=1 and coverage_penalty=0, or sample=True",
        ),
        ({"minimum_length": 300}, "expected: minimum_length <= 256"),
        ({"length_rule": "gogle"}, "expected: google or power\n  got:      gogle"),
        ({"coverage_penalty": -1.0}, "expected: coverage_penalty >= 0"),
        ({"sample": True, "coverage_penalty": 1.0}, "coverage penalty needs beam search"),
        ({"patience": -1.0}, "patience of the beam must be a positive number"),
    ],
)
def test_options_out_of_range_are_refused_before_decoding(options: dict, text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        DecodingOptions(**options)
