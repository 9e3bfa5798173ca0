"""Steps of a decoder on torch, whose rows move, against steps that look up what each slot read.

The tables' logits are few whole numbers, so equal scores are frequent.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from jumok.computation import cancel_scope
from jumok.decoding import DecodingOptions, Hypothesis, decode
from jumok.decoding.methods import decode_with, searches_of
from jumok.decoding.stepper import (
    NextTokens,
    Reading,
    Scores,
    SentenceReadings,
    SentenceSearch,
    Stepper,
    reduced,
    run_searches,
)
from jumok.errors import JumokError
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
        "seed": st.integers(0, 2**64 - 1),
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


class OnHost(Stepper[Scores]):
    """A stepper whose numbers are on the host."""

    vocabulary = VOCABULARY

    def reduced(self, scores: Scores, readings: Sequence[Reading]) -> NextTokens:
        return reduced(scores, readings)

    def mean(self, members: Sequence[Scores]) -> Scores:
        raise NotImplementedError


class TableStepper(OnHost):
    """Gives what a table has, from what was read into each slot before."""

    def __init__(self, logits: Drawn) -> None:
        self.logits = logits
        self.read: dict[tuple[int, int, int], int] = {}

    def scores(self, rows: SentenceReadings) -> Scores:
        columns = range(len(rows[0][1].tokens))
        logits = []
        for sentence, row in rows:
            for column in columns:
                self.read[sentence, row.place + column, row.slot] = row.tokens[column]
            prefix = self.prefix_of(sentence, row)
            logits.append(
                [self.logits(sentence, prefix[: row.place + column]) for column in columns]
            )
        return torch.tensor(logits).log_softmax(2).numpy()

    def prefix_of(self, sentence: int, row: Reading) -> Prefix:
        slots = [row.slot] * row.place if row.ancestors is None else row.ancestors.tolist()
        assert len(slots) == row.place
        places = enumerate([*slots, *[row.slot] * len(row.tokens)])
        return tuple(self.read[sentence, place, slot] for place, slot in places)[1:]


def by_slots(
    seed: int, options: DecodingOptions, prefixes=None, constraints=None, same=None
) -> list[list[Hypothesis]]:
    stepper = TableStepper(logits_of(seed, options))
    return decode_with(stepper, [5] * len(SENTENCES), options, prefixes, constraints, same)


def by_batch(
    seed: int, options: DecodingOptions, prefixes=None, constraints=None, same=None
) -> list[list[Hypothesis]]:
    table = CachedTable(logits_of(seed, options), VOCABULARY)
    memory = sentences(*SENTENCES)
    return decode(table, memory, options, prefixes, constraints, same)


def outcome(by, *given) -> list[list[Hypothesis]] | str:
    """What is found, or the text of the error."""
    try:
        return by(*given)
    except JumokError as error:
        return str(error)


def agree(seed: int, options: DecodingOptions, *given) -> None:
    found, expected = (outcome(by, seed, options, *given) for by in (by_slots, by_batch))
    if isinstance(found, str) or isinstance(expected, str):
        assert found == expected
        return
    assert [[each.tokens for each in of_row] for of_row in found] == [
        [each.tokens for each in of_row] for of_row in expected
    ]
    assert found == expected


prefixes_given = st.none() | st.lists(some_tokens, min_size=3, max_size=3)


@given(st.integers(0, 2**32), beams, prefixes_given, st.sampled_from([None, len, sum]))
@settings(max_examples=25, deadline=None)
def test_beams_are_those_of_slots(seed, keys, prefixes, same) -> None:
    agree(seed, DecodingOptions(**keys), prefixes, None, same)


@given(
    st.integers(0, 2**32),
    beams,
    prefixes_given,
    st.lists(st.lists(phrases, max_size=3), min_size=3, max_size=3),
)
@settings(max_examples=25, deadline=None)
def test_constrained_beams_are_those_of_slots(seed, keys, prefixes, wanted) -> None:
    agree(seed, DecodingOptions(**keys), prefixes, wanted)


@given(st.integers(0, 2**32), sampling, prefixes_given, st.integers(1, 3))
@settings(max_examples=25, deadline=None)
def test_texts_are_those_of_slots(seed, keys, prefixes, count) -> None:
    keys = keys | {"nbest": count if keys["sample"] else 1}
    agree(seed, DecodingOptions(**keys), prefixes)


def test_a_search_is_ended_between_two_steps() -> None:
    steps: list[int] = []

    class LeftError(Exception):
        """Nobody wants the result any more."""

    def check() -> None:
        if len(steps) == 3:
            raise LeftError

    class Even(OnHost):
        def scores(self, rows: SentenceReadings) -> Scores:
            steps.append(len(rows))
            return np.log(np.full((len(rows), 1, VOCABULARY), 1 / VOCABULARY, np.float32))

    searches = searches_of(DecodingOptions(beam=3, minimum_length=9), [9], VOCABULARY)
    with cancel_scope(check), pytest.raises(LeftError):
        run_searches(searches, Even())
    assert steps == [1, 3, 3]


class Countdown(SentenceSearch):
    """Reads as many tokens as it is told, one a step."""

    def __init__(self, steps: int) -> None:
        self.left, self.slots, self.seen = steps, 1, list[float]()

    def reading(self) -> Sequence[Reading]:
        return [Reading((self.left,), 0, 0, whole=True)] if self.left else []

    def advance(self, step: NextTokens) -> None:
        self.seen += step.whole[:, 0].tolist()
        self.left -= 1

    def hypotheses(self) -> list[Hypothesis]:
        return []


class Numbered(OnHost):
    """The number of the sentence, and the token that was read."""

    def scores(self, rows: SentenceReadings) -> Scores:
        numbers = [[[10 * row + one.tokens[0]]] for row, one in rows]
        return np.array(numbers, np.float32)


def test_what_is_over_leaves_the_others_their_own_rows() -> None:
    searches = [Countdown(steps) for steps in (3, 0, 1, 2)]
    run_searches([[each] for each in searches], Numbered())
    assert [each.seen for each in searches] == [[3, 2, 1], [], [21], [32, 31]]
