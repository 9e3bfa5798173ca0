"""Steps of a model on the native engine. Nothing here imports torch."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from jumok.data.tokenizer import END, START
from jumok.decoding.beam import Cover
from jumok.decoding.constraints import Constraints
from jumok.decoding.hypothesis import Hypothesis, Same
from jumok.decoding.limits import Prefixes
from jumok.decoding.methods import searches_of
from jumok.decoding.options import DecodingOptions
from jumok.decoding.rank import log_coverage, no_attention
from jumok.decoding.search import run
from jumok.decoding.stepper import Reading, Rows, Scores, Step, Stepper, reduced
from jumok.engine.forced import WatchedAttention
from jumok.engine.native import NativeModel
from jumok.engine.request import Request
from jumok.engine.searching import Source
from jumok.engine.steps import StepRow, read_rows
from jumok.stopwatch import spending


def decode_natively(
    model: NativeModel,
    sources: Sequence[Source],
    options: DecodingOptions,
    prefixes: Prefixes | None = None,
    constraints: Sequence[Constraints] | None = None,
    same: Same | None = None,
) -> list[list[Hypothesis]]:
    """`options.nbest` hypotheses for every source, best first (samples: as sampled).

    In float32 they are those of the same model on torch, but where two scores are within rounding
    of each other (or a sample of the border of two tokens).

    Args:
        sources: their tokens, END included, or Memories.
        prefixes, constraints, same: as in `decode_with`.

    Raises:
        ConfigError, ModelError: as `decode_with` and `NativeModel.search`.
        MemoryError: there is not enough memory.
    """
    if not sources:
        return []
    longest = [options.limits.longest_of(len(each)) for each in sources]
    cover = covering(model, sources) if options.coverage_penalty else None
    searches = searches_of(options, longest, model.vocabulary, prefixes, constraints, same, cover)
    slots = max(each.slots for of_source in searches for each in of_source)
    with model.read_sources(sources, longest, slots) as (session, request):
        stepper = NativeStepper(session, request, model.vocabulary)
        with spending("decode", "native"):
            run([(row, each) for row, of_row in enumerate(searches) for each in of_row], stepper)
    return [[found for each in of_source for found in each.found()] for of_source in searches]


class NativeStepper(Stepper[Scores]):
    """Reads for the searches of a request's sentences.

    Args:
        request: the sentences, which were read before.
    """

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

    def reduced(self, scores: Scores, readings: Sequence[Reading]) -> Step:
        return reduced(scores, readings)

    def mean(self, members: Sequence[Scores]) -> Scores:
        return mean_log_probability(members)


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


def covering(model: NativeModel, sources: Sequence[Source]) -> Cover:
    """The log coverage by hypotheses of these sources; see `decoding/coverage.py`.

    Raises:
        ConfigError: the model has no attention to its source.
    """
    if not model.cross_layers:
        raise no_attention()
    watched = [WatchedAttention("cross", layer) for layer in range(model.cross_layers)]

    def cover(sentence: int, hypotheses: Sequence[Sequence[int]]) -> list[float]:
        given = [sources[sentence]] * len(hypotheses)
        forced = model.force(given, hypotheses, (START, END), watched, log_probabilities=False)
        attended = [
            np.mean([weights.mean(axis=0).sum(axis=0) for weights in each.attention], axis=0)
            for each in forced
        ]
        covered: list[float] = log_coverage(np.stack(attended), None).tolist()
        return covered

    return cover
