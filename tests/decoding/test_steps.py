"""Searches for one sentence each against those for batches, on tables: the same in every bit.

The tables' logits are few whole numbers, so equal scores are frequent. Only below a minimum length,
where one twin normalises logits and the other one log-probabilities, rounding may decide between
equals; so logits are of many digits there.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from jumok.decoding import DecodingOptions, Hypothesis, decode
from jumok.decoding.steps.methods import searches_of
from jumok.decoding.steps.sentence import Reading, Scores, SentenceSearch, run
from jumok.errors import JumokError
from jumok.halting import halted_by
from tests.decoding.tables import CachedTable, sentences

VOCABULARY = 7
FREE = (1, 4, 5, 6)
SENTENCES = (0, 1, 2)

Prefix = tuple[int, ...]
some_tokens = st.lists(st.sampled_from(FREE), max_size=3).map(tuple)
phrases = st.lists(some_tokens.filter(len), min_size=1, max_size=2).map(tuple)
beams = st.fixed_dictionaries(
    {
        "nbest": st.integers(1, 3),
        "beam": st.integers(3, 6),
        "patience": st.sampled_from([None, 0.5, 1.0, 2.0]),
        "length_penalty": st.sampled_from([-1.0, 0.0, 1.0]),
        "minimum_length": st.integers(0, 3),
        "maximum_length": st.integers(5, 8),
        "no_repeat_ngram": st.sampled_from([0, 0, 1, 2]),
    }
)
sampling = st.fixed_dictionaries(
    {
        "sample": st.booleans(),
        "beam": st.just(1),
        "seed": st.integers(0, 2**64),
        "temperature": st.sampled_from([0.5, 1.0, 2.0]),
        "top_k": st.sampled_from([None, 1, 3]),
        "top_p": st.sampled_from([None, 0.5, 0.9]),
        "min_p": st.sampled_from([None, 0.2]),
        "frequency_penalty": st.sampled_from([0.0, 0.5, -0.5]),
        "presence_penalty": st.sampled_from([0.0, 1.0]),
        "minimum_length": st.integers(0, 3),
        "maximum_length": st.integers(5, 8),
        "no_repeat_ngram": st.sampled_from([0, 0, 1, 2]),
    }
)


@dataclass(frozen=True)
class Drawn:
    """Logits from 0 to 2, from the sentence and its whole prefix; if coarse, whole numbers."""

    seed: int
    coarse: bool

    def __call__(self, sentence: int, prefix: Prefix) -> list[float]:
        draw = np.random.default_rng([self.seed, sentence, *prefix])
        values = draw.integers(0, 3, VOCABULARY) if self.coarse else draw.uniform(0, 2, VOCABULARY)
        return values.astype(float).tolist()


def logits_of(seed: int, options: DecodingOptions) -> Drawn:
    return Drawn(seed, coarse=options.minimum_length == 0)


class TableReader:
    """Reads for `run` what a table has, from what was read into each slot before."""

    def __init__(self, logits: Drawn) -> None:
        self.logits = logits
        self.read: dict[tuple[int, int, int], int] = {}

    def __call__(self, rows: Sequence[tuple[int, Reading]]) -> Scores:
        for sentence, row in rows:
            self.read[sentence, row.place, row.slot] = row.token
        logits = [self.logits(sentence, self.prefix_of(sentence, row)) for sentence, row in rows]
        return torch.tensor(logits).log_softmax(1).numpy()

    def prefix_of(self, sentence: int, row: Reading) -> Prefix:
        slots = [row.slot] * row.place if row.ancestors is None else row.ancestors.tolist()
        assert len(slots) == row.place
        places = enumerate([*slots, row.slot])
        return tuple(self.read[sentence, place, slot] for place, slot in places)[1:]


def by_sentences(
    seed: int, options: DecodingOptions, prefixes=None, constraints=None, same=None
) -> list[list[Hypothesis]]:
    longest = [options.limits().longest_of(5)] * len(SENTENCES)
    searches = searches_of(options, longest, VOCABULARY, prefixes, constraints, same)
    run(
        [(row, each) for row, of_row in enumerate(searches) for each in of_row],
        TableReader(logits_of(seed, options)),
    )
    return [[found for each in of_row for found in each.found()] for of_row in searches]


def by_batch(
    seed: int, options: DecodingOptions, prefixes=None, constraints=None, same=None
) -> list[list[Hypothesis]]:
    table = CachedTable(logits_of(seed, options), VOCABULARY)
    memory = sentences(*SENTENCES)
    return decode(table, memory, options, prefixes, None, constraints, same)


def outcome(by, *given) -> list[list[Hypothesis]] | str:
    """What is found, or the text of the error."""
    try:
        return by(*given)
    except JumokError as error:
        return str(error)


def agree(seed: int, options: DecodingOptions, *given) -> None:
    found, expected = (outcome(by, seed, options, *given) for by in (by_sentences, by_batch))
    if isinstance(found, str) or isinstance(expected, str):
        assert found == expected
        return
    assert [[each.tokens for each in of_row] for of_row in found] == [
        [each.tokens for each in of_row] for of_row in expected
    ]
    for ours, theirs in zip(chain(*found), chain(*expected), strict=True):
        assert ours.finished == theirs.finished
        if options.minimum_length == 0:
            assert ours == theirs
        else:
            assert ours.token_log_probabilities == pytest.approx(
                theirs.token_log_probabilities, abs=1e-5
            )


prefixes_given = st.none() | st.lists(some_tokens, min_size=3, max_size=3)


@given(st.integers(0, 2**32), beams, prefixes_given, st.sampled_from([None, len, sum]))
@settings(max_examples=25, deadline=None)
def test_beams_are_those_of_batches(seed, keys, prefixes, same) -> None:
    agree(seed, DecodingOptions(**keys), prefixes, None, same)


@given(
    st.integers(0, 2**32),
    beams,
    prefixes_given,
    st.lists(st.lists(phrases, max_size=3), min_size=3, max_size=3),
)
@settings(max_examples=25, deadline=None)
def test_constrained_beams_are_those_of_batches(seed, keys, prefixes, wanted) -> None:
    agree(seed, DecodingOptions(**keys), prefixes, wanted)


@given(st.integers(0, 2**32), sampling, prefixes_given, st.integers(1, 3))
@settings(max_examples=25, deadline=None)
def test_texts_are_those_of_batches(seed, keys, prefixes, count) -> None:
    keys = keys | {"nbest": count if keys["sample"] else 1}
    agree(seed, DecodingOptions(**keys), prefixes)


def test_a_search_is_ended_between_two_steps() -> None:
    steps: list[int] = []

    class LeftError(Exception):
        """Nobody wants the result any more."""

    def check() -> None:
        if len(steps) == 3:
            raise LeftError

    def read(rows: Sequence[tuple[int, Reading]]) -> Scores:
        steps.append(len(rows))
        return np.log(np.full((len(rows), VOCABULARY), 1 / VOCABULARY, np.float32))

    searches = searches_of(DecodingOptions(beam=3, minimum_length=9), [9], VOCABULARY)
    with halted_by(check), pytest.raises(LeftError):
        run([(0, each) for each in searches[0]], read)
    assert steps == [1, 3, 3]


class Countdown(SentenceSearch):
    """Reads as many tokens as it is told, one a step."""

    def __init__(self, steps: int) -> None:
        self.left, self.slots, self.seen = steps, 1, list[float]()

    def reading(self) -> Sequence[Reading]:
        return [Reading(self.left, 0, 0)] if self.left else []

    def advance(self, scores: Scores) -> None:
        self.seen += scores[:, 0].tolist()
        self.left -= 1

    def found(self) -> list[Hypothesis]:
        return []


def test_what_is_over_leaves_the_others_their_own_rows() -> None:
    searches = [(row, Countdown(steps)) for row, steps in enumerate((3, 0, 1, 2))]
    run(searches, lambda rows: np.array([[10 * row + one.token] for row, one in rows], np.float32))
    assert [each.seen for _, each in searches] == [[3, 2, 1], [], [21], [32, 31]]
