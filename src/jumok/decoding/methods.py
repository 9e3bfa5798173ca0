"""Decoding by the method of the options: greedy, sampling, beam search, constrained search."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from jumok.decoding.beam import BeamRules, Cover, Report, SentenceBeam
from jumok.decoding.constrained import ConstrainedBeam
from jumok.decoding.constraints import Constraints, check_constraints
from jumok.decoding.hypothesis import Hypothesis, SameTokens
from jumok.decoding.limits import Prefixes, check_prefixes
from jumok.decoding.options import DecodingOptions
from jumok.decoding.rank import coverage_without_attention
from jumok.decoding.stepper import SentenceSearch, Stepper, run_searches
from jumok.decoding.writing import WrittenText


def decode_with(
    stepper: Stepper[Any],
    lengths: Sequence[int],
    options: DecodingOptions,
    prefixes: Prefixes | None = None,
    constraints: Sequence[Constraints] | None = None,
    same: SameTokens | None = None,
    cover: Cover | None = None,
    report: Report | None = None,
) -> list[list[Hypothesis]]:
    """`options.nbest` hypotheses for every source, best first (samples: as sampled).

    Args:
        lengths: of the sources, in positions.
        same: for beam search: the key of hypotheses that count as one (`Ranker`). None: all count.
        cover: needed for a coverage penalty.
        report: receives the candidates of beam search, which then also searches with a beam of one,
            but for penalties on tokens that were written before. Not in constrained search.

    Raises:
        ConfigError: constraints on samples, or with penalties on tokens that were written before;
            a coverage penalty without `cover`.
        ModelError: a prefix or a constraint that cannot be forced, or logits that are not numbers.
    """
    longest = [options.limits.longest_of(length) for length in lengths]
    searches = searches_of(
        options, longest, stepper.vocabulary, prefixes, constraints, same, cover, report
    )
    return run_searches(searches, stepper)


def searches_of(
    options: DecodingOptions,
    longest: Sequence[int],
    vocabulary: int,
    prefixes: Prefixes | None = None,
    constraints: Sequence[Constraints] | None = None,
    same: SameTokens | None = None,
    cover: Cover | None = None,
    report: Report | None = None,
) -> Sequence[Sequence[SentenceSearch]]:
    """The searches of every sentence, one or one for each sample; arguments and errors are those of
    `decode_with`.

    Args:
        longest: the maximum length of each sentence.
    """
    limits = options.limits
    if options.coverage_penalty and cover is None:
        raise coverage_without_attention()
    constrained = constraints is not None and any(constraints)
    if constrained:
        assert constraints is not None
        options.check_constrained()
        never = (*limits.forbidden, limits.start, limits.end)
        check_constraints(constraints, len(longest), longest, vocabulary, never)
    if prefixes is not None:
        check_prefixes(prefixes, limits, longest, vocabulary)
    forced = [()] * len(longest) if prefixes is None else prefixes
    # END has no probability below the minimum length, so there each token is read by itself
    beginning = 0 if limits.minimum_length else min(map(len, forced), default=0)
    reported = report is not None and not options.penalized
    greedy = options.beam == 1 and not options.coverage_penalty and not reported
    rows = enumerate(zip(longest, forced, strict=True))
    if not constrained and (options.sample or greedy):
        count = options.nbest
        return [
            [
                WrittenText(options, most, begun, beginning, one, row * count + one)
                for one in range(count)
            ]
            for row, (most, begun) in rows
        ]
    ranker = replace(options.ranker, same=same)
    reported_to = None if constrained else report
    rules = BeamRules(
        options.beam, limits, ranker, options.nbest, options.patience, cover, reported_to
    )
    if not constrained or constraints is None:
        return [[SentenceBeam(rules, row, most, begun, beginning)] for row, (most, begun) in rows]
    return [
        [ConstrainedBeam(rules, row, most, begun, constraints[row], beginning)]
        for row, (most, begun) in rows
    ]
