"""Steps of a model on the native engine. Nothing here imports torch."""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from jumok.computation import timed
from jumok.data.tokenizer import END, START
from jumok.decoding.beam import Cover, Report
from jumok.decoding.constraints import Constraints
from jumok.decoding.hypothesis import Hypothesis, Same
from jumok.decoding.limits import Prefixes
from jumok.decoding.methods import searches_of
from jumok.decoding.options import DecodingOptions
from jumok.decoding.rank import log_coverage, no_attention
from jumok.decoding.search import run
from jumok.decoding.stepper import Ensemble, NextTokens, Reading, Rows, Scores, Stepper, reduced
from jumok.engine.forced import WatchedAttention
from jumok.engine.native import NativeModel
from jumok.engine.request import Request
from jumok.engine.searching import Source
from jumok.engine.steps import StepRow, read_rows

Slots = npt.NDArray[np.int32]


def decode_natively(
    models: Sequence[NativeModel],
    sources: Sequence[Source],
    options: DecodingOptions,
    prefixes: Prefixes | None = None,
    constraints: Sequence[Constraints] | None = None,
    same: Same | None = None,
    report: Report | None = None,
) -> list[list[Hypothesis]]:
    """`options.nbest` hypotheses for every source, best first (samples: as sampled).

    In float32 they are those of the same models on torch, but where two scores are within rounding
    of each other (or a sample of the border of two tokens).

    Args:
        sources: their tokens, END included, or Memories.
        prefixes, constraints, same, report: as in `decode_with`.

    Raises:
        ConfigError, ModelError: as `decode_with` and `NativeModel.search`.
        MemoryError: there is not enough memory.
    """
    if not sources:
        return []
    longest = [options.limits.longest_of(len(each)) for each in sources]
    cover = covering(models, sources) if options.coverage_penalty else None
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
        stepper = steppers[0] if len(steppers) == 1 else Ensemble(steppers)
        with timed("decode", "native"):
            run([(row, each) for row, of_row in enumerate(searches) for each in of_row], stepper)
    return [
        [hypothesis for each in of_source for hypothesis in each.found()] for of_source in searches
    ]


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

    def scores(self, rows: Rows) -> npt.NDArray[np.float32]:
        new = len(rows[0][1].tokens)
        columns = [self._after(rows, column) for column in range(new)]
        return columns[0][:, None] if new == 1 else np.stack(columns, axis=1)

    def _after(self, rows: Rows, column: int) -> Scores:
        """The log-probabilities after one of the tokens that are read."""
        read = [self._row(sentence, column_of(one, column)) for sentence, one in rows]
        return read_rows(self._session, read, self.vocabulary)

    def _row(self, sentence: int, one: Reading) -> StepRow:
        (token,) = one.tokens
        return StepRow(self._request, sentence, token, one.place, one.slot, one.ancestors)


class WindowedStepper(OnEngine):
    """Reads for the searches of one text, which may be longer than the context of its model.

    What is in the context is what `decoding/window.py` says, the same on torch.

    All rows of a step are at one place. When the context is full, each hypothesis reads the last
    half of it again, in a slot of its own.

    Args:
        request: without a source, with room for a context in every slot.
    """

    def __init__(self, session: int, request: Request, context: int, vocabulary: int) -> None:
        self._session, self._request = session, request
        self._context, self.vocabulary = context, vocabulary
        self._tokens: dict[tuple[int, int], int] = {}
        self._first = 0  # the first place in the context
        self._begun = 0  # from this place on hypotheses have branched; before it none has

    def scores(self, rows: Rows) -> Scores:
        columns = [
            self._after([column_of(one, column) for _, one in rows])
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


def column_of(one: Reading, column: int) -> Reading:
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


def covering(models: Sequence[NativeModel], sources: Sequence[Source]) -> Cover:
    """The log coverage by hypotheses of these sources; see `decoding/coverage.py`.

    Raises:
        ConfigError: no model has attention to its source.
    """
    attending = [model for model in models if model.cross_layers]
    if not attending:
        raise no_attention()

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
