"""Decoding on the native engine by the method that the options name: the twin of
`decoding/methods.py` without torch.
"""

from collections.abc import Sequence
from dataclasses import replace

from jumok.decoding.constraints import Constraints, check_constraints
from jumok.decoding.hypothesis import Hypothesis, Same
from jumok.decoding.limits import Prefixes, check_prefixes
from jumok.decoding.options import DecodingOptions
from jumok.decoding.rank import no_attention
from jumok.decoding.steps.beam import BeamRules, SentenceBeam
from jumok.decoding.steps.constrained import ConstrainedBeam
from jumok.decoding.steps.covering import Cover, covering
from jumok.decoding.steps.sentence import Reading, Scores, SentenceSearch, run
from jumok.decoding.steps.writing import WrittenText, text_written_with
from jumok.engine.native import NativeModel
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

    In float32 they are those that `jumok.decoding.decode` finds with the same model on torch, but
    where two scores are within rounding of each other (or a sample of the border of two tokens).

    Args:
        sources: their tokens, END included, or Memories.
        prefixes: the forced beginning of each target, without START. None: nothing.
        constraints: the phrases that each target must contain. None: none.
        same: for beam search: the key of hypotheses that count as one (`Ranker`). None: all count.

    Raises:
        ConfigError: constraints on samples, or with penalties on tokens that were written before;
            a coverage penalty, and the model has no attention.
        ModelError: a prefix or a constraint that cannot be forced, logits that are not numbers, or
            as `NativeModel.search`.
        MemoryError: there is not enough memory.
    """
    if not sources:
        return []
    longest = [options.limits().longest_of(len(each)) for each in sources]
    cover = None
    if options.coverage_penalty:
        if not model.cross_layers:
            raise no_attention()
        cover = covering(model, sources)
    searches = searches_of(options, longest, model.vocabulary, prefixes, constraints, same, cover)
    slots = max(each.slots for of_source in searches for each in of_source)
    with model.read_sources(sources, longest, slots) as (session, request):

        def read(readings: Sequence[tuple[int, Reading]]) -> Scores:
            rows = [
                StepRow(request, sentence, one.token, one.place, one.slot, one.ancestors)
                for sentence, one in readings
            ]
            return read_rows(session, rows, model.vocabulary)

        with spending("decode", "native"):
            run([(row, each) for row, of_row in enumerate(searches) for each in of_row], read)
    return [[found for each in of_source for found in each.found()] for of_source in searches]


def searches_of(
    options: DecodingOptions,
    longest: Sequence[int],
    vocabulary: int,
    prefixes: Prefixes | None = None,
    constraints: Sequence[Constraints] | None = None,
    same: Same | None = None,
    cover: Cover | None = None,
) -> Sequence[Sequence[SentenceSearch]]:
    """The searches of every sentence: one, or one for each sample.

    Args:
        longest: the maximum number of tokens of each target.
        vocabulary: the number of the model's tokens.
        prefixes, constraints, same: as in `decode_natively`.
        cover: needed for a coverage penalty.

    Raises:
        ConfigError, ModelError: as `decode_natively`.
    """
    limits = options.limits()
    constrained = constraints is not None and any(constraints)
    if constrained:
        assert constraints is not None
        options.check_constrained()
        never = (*limits.forbidden, limits.start, limits.end)
        check_constraints(constraints, len(longest), longest, vocabulary, never)
    if prefixes is not None:
        check_prefixes(prefixes, limits, longest, vocabulary)
    forced = [()] * len(longest) if prefixes is None else prefixes
    greedy = options.beam == 1 and not options.coverage_penalty
    if not constrained and (options.sample or greedy):
        return _texts(options, longest, forced, vocabulary)
    ranker = replace(options.ranker(), same=same)
    rules = BeamRules(options.beam, limits, ranker, options.nbest, options.patience, cover)
    beams = _beams(rules, longest, forced, constraints if constrained else None)
    return [[each] for each in beams]


def _texts(
    options: DecodingOptions, longest: Sequence[int], forced: Prefixes, vocabulary: int
) -> list[list[WrittenText]]:
    """For each source its samples, or the one greedy text."""
    count = options.nbest
    return [
        [
            text_written_with(options, most, begun, one, row * count + one, vocabulary)
            for one in range(count)
        ]
        for row, (most, begun) in enumerate(zip(longest, forced, strict=True))
    ]


def _beams(
    rules: BeamRules,
    longest: Sequence[int],
    forced: Prefixes,
    constraints: Sequence[Constraints] | None,
) -> list[SentenceBeam]:
    """The beam of each source."""
    given = enumerate(zip(longest, forced, strict=True))
    if constraints is None:
        return [SentenceBeam(rules, row, most, begun) for row, (most, begun) in given]
    return [
        ConstrainedBeam(rules, row, most, begun, constraints[row]) for row, (most, begun) in given
    ]
