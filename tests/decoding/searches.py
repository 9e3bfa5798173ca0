"""Decoding with any limits and any ranking."""

from collections.abc import Sequence
from dataclasses import dataclass

from jumok.decoding import DecodingOptions, Hypothesis, decode
from jumok.decoding.limits import Limits
from jumok.decoding.rank import Ranker
from jumok.models.memory import Memory

PLAIN = Ranker()


@dataclass(frozen=True)
class Ranked(DecodingOptions):
    """Options with a ranking of their own, in no range."""

    own: Ranker = PLAIN

    def __post_init__(self) -> None:
        """Nothing is refused."""

    @property
    def ranker(self) -> Ranker:
        return self.own


def options_of(limits: Limits, ranker: Ranker | None = None, **keys: object) -> Ranked:
    own = ranker or PLAIN
    return Ranked(
        minimum_length=limits.minimum_length,
        maximum_length=limits.maximum_length,
        maximum_ratio=limits.maximum_ratio,
        maximum_extra=limits.maximum_extra,
        no_repeat_ngram=limits.no_repeat_ngram,
        forbidden=limits.forbidden,
        coverage_penalty=own.coverage_penalty,
        own=own,
        **keys,
    )


def beam_search(
    decoder: object,
    memory: Memory,
    beam: int,
    limits: Limits,
    ranker: Ranker | None = None,
    nbest: int = 1,
    patience: float | None = 1.0,
    **given: object,
) -> list[list[Hypothesis]]:
    """Also with a beam of one."""
    options = options_of(limits, ranker, beam=beam, nbest=nbest, patience=patience)
    return decode(decoder, memory, options, report=lambda *_: None, **given)


def greedy(
    decoder: object,
    memory: Memory,
    limits: Limits,
    ranker: Ranker | None = None,
    prefixes: Sequence[Sequence[int]] | None = None,
) -> list[Hypothesis]:
    found = decode(decoder, memory, options_of(limits, ranker, beam=1), prefixes)
    return [best for (best,) in found]


def sample(
    decoder: object,
    memory: Memory,
    limits: Limits,
    seed: int,
    samples: int = 1,
    prefixes: Sequence[Sequence[int]] | None = None,
    **keys: object,
) -> list[list[Hypothesis]]:
    options = options_of(limits, sample=True, seed=seed % 2**64, nbest=samples, **keys)
    return decode(decoder, memory, options, prefixes)
