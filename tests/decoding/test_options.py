from collections.abc import Sequence
from dataclasses import replace
from math import inf, nan

import pytest

from jumok.decoding import DecodingOptions, decode
from jumok.decoding.beam import BeamCandidate
from jumok.errors import ConfigError
from jumok.options import options_of
from tests.decoding.tables import CachedTable, log_softmax, mixed_logits, sentences

MEMORY = sentences(*range(5))


def table() -> CachedTable:
    return CachedTable(mixed_logits, 7)


def test_the_candidates_of_a_beam_of_one_are_reported() -> None:
    """Greedy decoding has no candidates: where they are wanted, a beam of one is searched."""
    seen: list[tuple[int, Sequence[BeamCandidate]]] = []
    options = DecodingOptions(beam=1, maximum_length=6)
    found = decode(table(), MEMORY, options, report=lambda *step: seen.append(step))
    assert [best.tokens for (best,) in found] == [
        best.tokens for (best,) in decode(table(), MEMORY, options)
    ]
    assert all(len(candidates) == 2 for _, candidates in seen)
    for row, (best,) in enumerate(found):
        kept = [
            one.extended.token
            for sentence, candidates in seen
            for one in candidates
            if sentence == row and one.kept
        ]
        assert kept[: len(best.tokens)] == list(best.tokens)


def test_candidates_are_the_search() -> None:
    """Totals are sums of log-probabilities, and what is kept or ends is among the best of them."""
    seen: list[Sequence[BeamCandidate]] = []
    options = DecodingOptions(beam=3, nbest=3, maximum_length=6)
    decode(table(), sentences(4), options, report=lambda _, step: seen.append(step))
    before = [0.0]
    for candidates in seen:
        totals = [one.extended.total for one in candidates]
        assert totals == sorted(totals, reverse=True)
        for one in candidates:
            sums = before[one.extended.parent] + one.extended.value
            assert one.extended.total == pytest.approx(sums, abs=1e-5)
            assert not (one.kept and one.finished)
            assert one.extended.token == 3 or not one.finished
        before = [one.extended.total for one in candidates if one.kept]
    assert any(one.finished for candidates in seen for one in candidates)


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
            penalized = [
                value - 0.5 * tokens[len(prefix) :].count(token) if token not in (0, 2) else -inf
                for token, value in enumerate(scores)
            ]
            token = penalized.index(max(penalized))
            if token == 3:
                break
            tokens.append(token)
        assert list(best.tokens) == tokens
    plain = decode(table(), MEMORY, replace(options, frequency_penalty=0.0), prefixes)
    assert [each[0].tokens for each in found] != [each[0].tokens for each in plain]


def test_penalties_and_constraints_exclude_each_other() -> None:
    options = DecodingOptions(beam=1, presence_penalty=1.0)
    constraints = [[((4,),)] for _ in range(5)]
    with pytest.raises(ConfigError, match="leave out frequency_penalty, presence_penalty"):
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


def test_decode_with_a_coverage_penalty_needs_attention() -> None:
    with pytest.raises(ConfigError, match="needs the model's attention weights"):
        decode(table(), MEMORY, DecodingOptions(beam=1, coverage_penalty=0.1))


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"beam": 0}, "beam is out of range.\n  expected: 1 <= beam <= 1000\n  got:      0"),
        ({"beam": 2, "nbest": 3}, "expected: nbest <= 2\n.*\n  do:       set beam=3 or more"),
        ({"sample": True, "nbest": 0}, "expected: 1 <= nbest <= 1000"),
        ({"patience": 0.0}, "expected: 0 < patience <= 1000, or None"),
        ({"length_penalty": nan}, "expected: -10 <= length_penalty <= 10\n  got:      nan"),
        ({"length_penalty": 11.0}, "length_penalty is out of range"),
        ({"coverage_penalty": -0.1}, "expected: 0 <= coverage_penalty <= 1000\n  got:      -0.1"),
        ({"coverage_penalty": inf}, "expected: 0 <= coverage_penalty <= 1000\n  got:      inf"),
        ({"minimum_length": -1}, "expected: 0 <= minimum_length"),
        ({"maximum_length": 0}, "expected: 1 <= maximum_length"),
        ({"maximum_ratio": -0.5}, "expected: 0 <= maximum_ratio <= 1000000, or None"),
        ({"maximum_extra": -1}, "expected: 0 <= maximum_extra"),
        ({"no_repeat_ngram": -1}, "expected: 0 <= no_repeat_ngram"),
        (
            {"sample": True, "temperature": -0.5},
            "got:      -0.5\n  do:       for the most probable",
        ),
        ({"temperature": inf}, "expected: temperature > 0"),
        ({"top_k": 0}, "expected: 1 <= top_k <= 1000000, or None"),
        ({"top_p": 0.0}, "expected: 0 < top_p <= 1"),
        ({"top_p": 1.2}, "expected: 0 < top_p <= 1"),
        ({"min_p": -0.1}, "expected: 0 <= min_p <= 1"),
        ({"beam": 1, "frequency_penalty": 2.5}, "frequency_penalty is out of range"),
        ({"beam": 1, "presence_penalty": -3.0}, "expected: -2 <= presence_penalty <= 2"),
        ({"beam": 4, "presence_penalty": 1.0}, "need greedy decoding or sampling"),
        (
            {"beam": 1, "coverage_penalty": 1.0, "frequency_penalty": 1.0},
            "set beam=1 and coverage_penalty=0, or sample=True",
        ),
        ({"minimum_length": 300}, "expected: minimum_length <= 256"),
        ({"sample": True, "coverage_penalty": 1.0}, "coverage penalty needs beam search"),
    ],
)
def test_options_out_of_range_are_refused_before_decoding(options: dict, text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        DecodingOptions(**options)


def test_options_of_sampling_need_sampling() -> None:
    options = DecodingOptions()
    assert options.changed({"beam": 5, "seed": 0}) is options
    assert options.changed({"sample": True, "top_k": 3}).top_k == 3
    with pytest.raises(ConfigError, match="for sampling\\.\n  got:      temperature, top_k\n"):
        options.changed({"beam": 2, "temperature": 0.5, "top_k": 3})


def test_the_docstring_has_every_option() -> None:
    assert "temperature: Temperature: below 1 sharpens" in DecodingOptions.__doc__


def test_a_choice_is_one_of_its_values() -> None:
    with pytest.raises(ConfigError, match="expected: google or power\n  got:      gogle"):
        options_of(DecodingOptions)["length_rule"].check("gogle")
