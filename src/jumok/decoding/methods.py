"""Decoding by the method that the options name: greedy, beam search, constrained, sampling."""

from dataclasses import replace
from typing import TypeVar

from jumok.attention.heard import is_heard
from jumok.decoding.beam import CANDIDATES, ReadAttention, beam_search
from jumok.decoding.constrained import constrained_search
from jumok.decoding.constraints import Constraints
from jumok.decoding.greedy import greedy
from jumok.decoding.hypothesis import Hypothesis, Same
from jumok.decoding.limits import Prefixes
from jumok.decoding.options import DecodingOptions
from jumok.decoding.sample import sample
from jumok.models.memory import Decoder, Memory

State = TypeVar("State")


def decode(
    decoder: Decoder[State],
    memory: Memory,
    options: DecodingOptions,
    prefixes: Prefixes | None = None,
    attention: ReadAttention | None = None,
    constraints: list[Constraints] | None = None,
    same: Same | None = None,
) -> list[list[Hypothesis]]:
    """`options.nbest` hypotheses for every row of the memory, best first (samples: as sampled).

    A beam of one uses beam search, too, if the decoder has a listener to the candidates, and there
    are no penalties on tokens that were written before.

    Args:
        prefixes: the forced beginning of each row, without START. None: nothing.
        attention: gives the last step's attention to the source; needed for a coverage penalty
            (`jumok.decoding.coverage`).
        constraints: the phrases that each row must contain (`jumok.decoding.constrained`); such a
            search reports no candidates. None: no constraints.
        same: for beam search: the key of hypotheses that count as one (`Ranker`). None: all count.

    Raises:
        ConfigError: a coverage penalty without `attention`; constraints on samples, or with
            penalties on tokens that were written before.
        ModelError: a prefix or a constraint that cannot be forced, or logits that are not numbers.
    """
    limits, ranker = options.limits(), replace(options.ranker(), same=same)
    if constraints is not None and any(constraints):
        options.check_constrained()
    if options.sample:
        return sample(
            decoder, memory, limits, options.seed, options.filters(), options.nbest, ranker,
            prefixes, options.penalties(),
        )  # fmt: skip
    if constraints is not None and any(constraints):
        return constrained_search(
            decoder, memory, options.beam, limits, constraints, ranker,
            options.nbest, options.patience, prefixes, attention,
        )  # fmt: skip
    heard = is_heard(decoder, CANDIDATES) and not options.penalised
    if options.beam == 1 and not options.coverage_penalty and not heard:
        found = greedy(decoder, memory, limits, ranker, prefixes, options.penalties())
        return [[best] for best in found]
    return beam_search(
        decoder,
        memory,
        options.beam,
        limits,
        ranker,
        options.nbest,
        options.patience,
        prefixes,
        attention,
    )
