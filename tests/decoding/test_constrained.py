"""Constrained search: the best of all that contains the phrases, by trying everything."""

from dataclasses import replace
from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from jumok.decoding import DecodingOptions, decode
from jumok.decoding.constrained import BankedExtension, allocate
from jumok.decoding.constraints import ConstraintAutomaton, Constraints
from jumok.decoding.limits import Limits
from jumok.decoding.methods import decode_with
from jumok.decoding.rank import Ranker, google_length_penalty
from jumok.decoding.stepper import Ensemble
from jumok.decoding.torch_stepper import TorchStepper
from jumok.errors import ConfigError, ModelError
from tests.decoding.searches import beam_search
from tests.decoding.tables import TABLES, CachedTable, every_hypothesis, mixed_logits, sentences

EVERYTHING = 2000  # wider than all there is to write in five tokens of four kinds
FREE = (1, 4, 5, 6)

phrases = st.lists(st.sampled_from(FREE), min_size=1, max_size=3).map(tuple)
constraints = st.lists(st.lists(phrases, min_size=1, max_size=2).map(tuple), max_size=3)


def contains(tokens: tuple[int, ...], wanted: list[tuple[tuple[int, ...], ...]]) -> bool:
    """Whether every phrase stands there in tokens of its own: every place is tried."""
    if not wanted:
        return True
    phrase, *others = wanted
    for sequence in phrase:
        for start in range(len(tokens) - len(sequence) + 1):
            if tokens[start : start + len(sequence)] == sequence:
                # a token that no phrase knows stands where this one was taken out
                rest = (*tokens[:start], -1, *tokens[start + len(sequence) :])
                if contains(rest, others):
                    return True
    return False


def shortest(wanted: Constraints) -> int:
    return sum(min(map(len, phrase)) for phrase in wanted)


@given(st.lists(st.sampled_from(FREE), max_size=7).map(tuple), constraints)
@settings(max_examples=500, deadline=None)
def test_progress_counts_as_trying_every_place_does(tokens, wanted) -> None:
    progress = ConstraintAutomaton(wanted)
    ways = progress.start
    for token in tokens:
        ways = progress.after(ways, token)
    assert (progress.missing(ways) == 0) == contains(tokens, wanted)


@given(st.lists(st.sampled_from(FREE), max_size=4).map(tuple), constraints)
@settings(max_examples=200, deadline=None)
def test_missing_is_never_more_than_what_completes_it(tokens, wanted) -> None:
    progress = ConstraintAutomaton(wanted)
    ways = progress.start
    for token in tokens:
        ways = progress.after(ways, token)
    for _ in range(shortest(wanted) + 8):
        missing = progress.missing(ways)
        if missing == 0:
            return
        later = [progress.after(ways, token) for token in progress.advancing(ways)]
        ways = min(later, key=progress.missing)
        assert progress.missing(ways) == missing - 1  # one token is one token less
    raise AssertionError("the phrases are never complete")


@pytest.mark.parametrize("table", TABLES)
@given(wanted=constraints, sentence=st.integers(0, 50), alpha=st.sampled_from([0.0, 1.0]))
@settings(max_examples=40, deadline=None)
def test_wide_beam_finds_the_best_that_contains_the_phrases(table, wanted, sentence, alpha) -> None:
    maximum = 4
    if shortest(wanted) > maximum:
        return
    ranker = Ranker(google_length_penalty(alpha))
    limits = Limits(maximum_length=maximum)
    found = beam_search(
        table(mixed_logits, 7),
        sentences(sentence),
        EVERYTHING,
        limits,
        ranker,
        constraints=[wanted],
        nbest=5,
        patience=None,
    )[0]
    everything = [
        (tokens, value / ranker.length_penalty(len(tokens) + finished), finished)
        for tokens, value, finished in every_hypothesis(mixed_logits, sentence, maximum)
        if contains(tokens, wanted)
    ]
    everything.sort(key=lambda one: (-one[2], -one[1]))
    assert [one.score for one in found] == pytest.approx([one[1] for one in everything[:5]])
    assert all(contains(one.tokens, wanted) for one in found)
    assert found[0].tokens == everything[0][0]


@given(
    wanted=st.lists(constraints, min_size=1, max_size=3),
    beam=st.integers(1, 6),
    repeat=st.integers(0, 2),
)
@settings(max_examples=100, deadline=None)
def test_any_beam_gives_only_hypotheses_with_every_phrase(wanted, beam, repeat) -> None:
    limits = Limits(maximum_length=12, no_repeat_ngram=repeat)
    found = beam_search(
        CachedTable(mixed_logits, 7),
        sentences(*range(len(wanted))),
        beam,
        limits,
        constraints=wanted,
    )
    for of_row, row in zip(found, wanted, strict=True):
        assert len(of_row) == 1
        assert contains(of_row[0].tokens, row)
        values = of_row[0].token_log_probabilities
        assert of_row[0].log_probability == pytest.approx(sum(values))


def test_row_without_constraints_is_searched_as_ever() -> None:
    rows = sentences(3, 8, 21)
    limits, ranker = Limits(maximum_length=9), Ranker(google_length_penalty(1.0))
    plain = beam_search(CachedTable(mixed_logits, 7), rows, 3, limits, ranker, nbest=3)
    mixed = beam_search(
        CachedTable(mixed_logits, 7),
        rows,
        3,
        limits,
        ranker,
        constraints=[[], [((4, 4),)], []],
        nbest=3,
    )
    assert [one.tokens for one in mixed[0]] == [one.tokens for one in plain[0]]
    assert [one.tokens for one in mixed[2]] == [one.tokens for one in plain[2]]
    assert all((4, 4) in pairwise(one.tokens) for one in mixed[1])


def test_neighbours_in_the_batch_change_nothing() -> None:
    wanted = [[((4, 4),)], [((5, 6, 5),), ((1,),)], []]
    limits = Limits(maximum_length=9)
    table = CachedTable(mixed_logits, 7)
    together = beam_search(table, sentences(1, 2, 3), 2, limits, constraints=wanted)
    for number, (row, phrases_of_row) in enumerate(zip(together, wanted, strict=True), start=1):
        alone = beam_search(table, sentences(number), 2, limits, constraints=[phrases_of_row])
        assert [one.tokens for one in alone[0]] == [one.tokens for one in row]


def test_prefix_counts_for_what_it_contains() -> None:
    limits = Limits(maximum_length=8)
    (found,), (other,) = beam_search(
        CachedTable(mixed_logits, 7),
        sentences(1, 2),
        3,
        limits,
        constraints=[[((4, 5),)], [((4, 5),)]],
        prefixes=[[4], [1, 4, 5]],
    )
    assert found.tokens[0] == 4
    assert contains(found.tokens, [((4, 5),)])
    assert other.tokens[:3] == (1, 4, 5)


def test_ensemble_keeps_constraints() -> None:
    tables = [CachedTable(mixed_logits, 7), CachedTable(lambda s, p: mixed_logits(s + 9, p), 7)]
    options = DecodingOptions(beam=2, maximum_length=8)

    def joint(constraints=None):
        members = [TorchStepper(member, sentences(1, 2)) for member in tables]
        return decode_with(Ensemble(members), [5, 5], options, constraints=constraints)

    found = joint([[((6, 1),)], []])
    assert contains(found[0][0].tokens, [((6, 1),)])
    assert found[1][0].tokens == joint()[1][0].tokens


def test_places_are_shared_among_banks() -> None:
    candidates = [
        BankedExtension(-float(n), 0, n, missing, frozenset())
        for n, missing in enumerate([2, 2, 2, 2, 1, 0, 0])
    ]
    assert [each.token for each in allocate(candidates, 3)] == [0, 4, 5]
    assert [each.token for each in allocate(candidates, 5)] == [0, 1, 4, 5, 6]
    assert [each.token for each in allocate(candidates, 2)] == [4, 5]


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ([[((4,),)], []], "every sentence needs a list of constraints"),
        ([[((3,),)]], "sentence 0 holds a token that cannot be written"),
        ([[((0,),)]], "sentence 0 holds a token that cannot be written"),
        ([[((7,),)]], "expected: ids from 0 to 6"),
        ([[()]], "has no token"),
        ([[((4, 4, 4, 4, 4, 4),)]], "longer than its target may get"),
    ],
)
def test_what_cannot_be_kept_is_refused(wanted, message) -> None:
    with pytest.raises(ModelError, match=message):
        beam_search(
            CachedTable(mixed_logits, 7),
            sentences(1),
            3,
            Limits(maximum_length=5),
            constraints=wanted,
        )


def test_samples_take_no_constraints() -> None:
    with pytest.raises(ConfigError, match="constraints need beam search"):
        decode(
            CachedTable(mixed_logits, 7),
            sentences(1),
            replace(DecodingOptions(), sample=True),
            constraints=[[((4,),)]],
        )


def test_log_probabilities_are_the_model_s_own() -> None:
    (found,) = beam_search(
        CachedTable(mixed_logits, 7),
        sentences(5),
        2,
        Limits(maximum_length=9),
        constraints=[[((6, 4, 6),)]],
    )[0]
    for place, (token, value) in enumerate(
        zip(found.tokens, found.token_log_probabilities, strict=False)
    ):
        logits = torch.tensor(mixed_logits(5, found.tokens[:place]))
        assert value == pytest.approx(float(logits.log_softmax(0)[token]), abs=1e-5)
