"""Decoding on the native engine, in C or over its steps. Nothing here imports torch."""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from math import ceil

import numpy as np
import numpy.typing as npt

from jumok.computation import timed
from jumok.data.tokenizer import END, START
from jumok.decoding.beam import Cover, Report
from jumok.decoding.constraints import Constraints
from jumok.decoding.hypothesis import Hypothesis, SameTokens
from jumok.decoding.limits import Prefixes
from jumok.decoding.methods import searches_of
from jumok.decoding.options import DecodingOptions
from jumok.decoding.rank import coverage_without_attention, log_coverage
from jumok.decoding.stepper import (
    NextTokens,
    Reading,
    Scores,
    SentenceReadings,
    Stepper,
    joint_stepper,
    reduced,
    run_searches,
)
from jumok.engine.forced import WatchedAttention
from jumok.engine.native import NativeModel
from jumok.engine.request import Request
from jumok.engine.searching import SearchRules, Source
from jumok.engine.steps import StepRow, read_rows

Slots = npt.NDArray[np.int32]


def hypotheses_of(
    models: Sequence[NativeModel],
    sources: Sequence[Source],
    options: DecodingOptions,
    prefixes: Prefixes | None = None,
    constraints: Sequence[Constraints] | None = None,
    same: SameTokens | None = None,
    report: Report | None = None,
) -> list[list[Hypothesis]]:
    """For each source its hypotheses, best first (samples: as sampled).

    The best hypothesis of one model is searched for in C, all else in Python over steps in C.

    Args:
        sources: their tokens, END included, or Memories.
        prefixes, constraints, same, report: see `decode_with`.
    """
    forced = any(prefixes or ()) or any(constraints or ())
    if len(models) > 1 or forced or report is not None or not _is_plain_search(options):
        return decode_natively(models, sources, options, prefixes, constraints, same, report)
    rules, ranker = rules_of(options, list(map(len, sources))), options.ranker
    return [
        [ranker.rate(hypothesis.tokens, hypothesis.log_probabilities)]
        for hypothesis in models[0].search(sources, rules)
    ]


def _is_plain_search(options: DecodingOptions) -> bool:
    """Whether the engine's search in C has these options."""
    return not (
        options.sample
        or options.nbest > 1
        or options.coverage_penalty
        or options.no_repeat_ngram
        or options.penalized
    )


def rules_of(options: DecodingOptions, lengths: Sequence[int]) -> SearchRules:
    """The options as the engine's rules: see `decoding/limits.py` and `decoding/beam.py`.

    Args:
        lengths: of the sources, END counted, or of their Memories.
    """
    limits, penalty = options.limits, options.ranker.length_penalty
    longest = [limits.longest_of(length) for length in lengths]
    return SearchRules(
        options.beam, START, END, options.forbidden, options.minimum_length, longest,
        [1.0, *map(penalty, range(1, max(longest) + 3))],
        0 if options.patience is None else max(1, ceil(options.beam * options.patience)),
    )  # fmt: skip


def decode_natively(
    models: Sequence[NativeModel],
    sources: Sequence[Source],
    options: DecodingOptions,
    prefixes: Prefixes | None = None,
    constraints: Sequence[Constraints] | None = None,
    same: SameTokens | None = None,
    report: Report | None = None,
) -> list[list[Hypothesis]]:
    """As `decode_with`.

    In float32 the hypotheses are those of the same models on torch, but where two scores are within
    rounding of each other (or a sample of the border of two tokens).

    Args:
        sources: their tokens, END included, or Memories.

    Raises:
        ConfigError, ModelError: as `decode_with` and `NativeModel.search`.
        MemoryError: there is not enough memory.
    """
    if not sources:
        return []
    longest = [options.limits.longest_of(len(each)) for each in sources]
    cover = _native_cover(models, sources) if options.coverage_penalty else None
    vocabulary = models[0].vocabulary
    searches = searches_of(options, longest, vocabulary, prefixes, constraints, same, cover, report)
    slots = max(each.slots for of_source in searches for each in of_source)
    with ExitStack() as held:
        steppers = [
            NativeStepper(
                *held.enter_context(model.read_sources(sources, longest, slots)), model.vocabulary
            )
            for model in models
        ]
        with timed("decode", "native"):
            return run_searches(searches, joint_stepper(steppers))


class OnEngine(Stepper[Scores]):
    """A stepper whose log-probabilities are on the host."""

    def reduced(self, scores: Scores, readings: Sequence[Reading]) -> NextTokens:
        return reduced(scores, readings)

    def mean(self, members: Sequence[Scores]) -> Scores:
        return mean_log_probability(members)


class NativeStepper(OnEngine):
    """Reads for the searches of a request's sentences."""

    def __init__(self, session: int, request: Request, vocabulary: int) -> None:
        self._session, self._request, self.vocabulary = session, request, vocabulary

    def scores(self, rows: SentenceReadings) -> npt.NDArray[np.float32]:
        new = len(rows[0][1].tokens)
        columns = [self._after(rows, column) for column in range(new)]
        return columns[0][:, None] if new == 1 else np.stack(columns, axis=1)

    def _after(self, rows: SentenceReadings, column: int) -> Scores:
        read = [self._row(sentence, _one_token(one, column)) for sentence, one in rows]
        return read_rows(self._session, read, self.vocabulary)

    def _row(self, sentence: int, one: Reading) -> StepRow:
        (token,) = one.tokens
        return StepRow(self._request, sentence, token, one.place, one.slot, one.ancestors)


class WindowedStepper(OnEngine):
    """Reads for the searches of one text, which may be longer than the context of its model
    (`decoding/window.py`).

    When the context is full, each hypothesis reads the last half of it again, in a slot of its own.

    Args:
        request: without a source, with room for a context in every slot.
    """

    def __init__(self, session: int, request: Request, context: int, vocabulary: int) -> None:
        self._session, self._request = session, request
        self._context, self.vocabulary = context, vocabulary
        self._tokens: dict[tuple[int, int], int] = {}
        self._first = 0  # the first place in the context
        self._begun = 0  # from this place on hypotheses have branched; before it none has

    def scores(self, rows: SentenceReadings) -> Scores:
        columns = [
            self._after([_one_token(one, column) for _, one in rows])
            for column in range(len(rows[0][1].tokens))
        ]
        return np.stack(columns, axis=1)

    def _after(self, readings: Sequence[Reading]) -> Scores:
        place = readings[0].place
        for one in readings:
            self._tokens[place, one.slot] = one.tokens[0]
        if place - self._first == self._context:
            self._first, self._begun = place - self._context // 2, place
            for earlier in range(self._first, place):
                self._read([self._again(one, earlier) for one in readings])
        return self._read([replace(one, ancestors=self._slots(one)) for one in readings])

    def _again(self, one: Reading, place: int) -> Reading:
        """The token that a hypothesis has at an earlier place, in the slot of its last one."""
        slots = self._all_slots(one)
        token = self._tokens[place, int(slots[place])]
        return Reading((token,), place, one.slot, np.full(place - self._first, one.slot, np.int32))

    def _slots(self, one: Reading) -> Slots:
        """The slots of what the context has of a hypothesis before this token."""
        slots = self._all_slots(one)
        shared = slots[self._begun] if one.place > self._begun else one.slot
        again = np.full(max(self._begun - self._first, 0), shared, np.int32)
        return np.concatenate([again, slots[max(self._begun, self._first) :]])

    def _all_slots(self, one: Reading) -> Slots:
        return np.full(one.place, one.slot, np.int32) if one.ancestors is None else one.ancestors

    def _read(self, readings: Sequence[Reading]) -> Scores:
        rows = [
            StepRow(
                self._request, 0, one.tokens[0], one.place - self._first, one.slot, one.ancestors
            )
            for one in readings
        ]
        return read_rows(self._session, rows, self.vocabulary)


def _one_token(one: Reading, column: int) -> Reading:
    """One of the tokens that are read, by itself."""
    if len(one.tokens) == 1:
        return one
    slots = one.ancestors
    if slots is not None:
        slots = np.append(slots, np.full(column, one.slot, np.int32))
    return Reading((one.tokens[column],), one.place + column, one.slot, slots)


def mean_log_probability(members: Sequence[Scores]) -> Scores:
    """log of the mean probability of several models, computed in log space."""
    stacked = np.stack(members)
    highest = np.maximum(stacked.max(axis=0), np.finfo(np.float32).min)
    with np.errstate(divide="ignore"):  # no member may give a token a probability
        mean: Scores = highest + np.log(np.exp(stacked - highest).mean(axis=0))
    return mean


def _native_cover(models: Sequence[NativeModel], sources: Sequence[Source]) -> Cover:
    """The log coverage by hypotheses of these sources; see `decoding/score.py`.

    Raises:
        ConfigError: no model has attention to its source.
    """
    attending = [model for model in models if model.cross_layers]
    if not attending:
        raise coverage_without_attention()

    def cover(sentence: int, hypotheses: Sequence[Sequence[int]]) -> list[float]:
        layers: list[list[Scores]] = [[] for _ in hypotheses]
        repeated = [sources[sentence]] * len(hypotheses)
        for model in attending:
            watched = [WatchedAttention("cross", layer) for layer in range(model.cross_layers)]
            forced = model.force(
                repeated, hypotheses, (START, END), watched, log_probabilities=False
            )
            for of_hypothesis, each in zip(layers, forced, strict=True):
                of_hypothesis += [weights.mean(axis=0).sum(axis=0) for weights in each.attention]
        attended = np.stack([np.mean(each, axis=0) for each in layers])
        covered: list[float] = log_coverage(attended, None).tolist()
        return covered

    return cover
