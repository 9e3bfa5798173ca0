"""The options of decoding, and the function that decodes with them."""

from dataclasses import dataclass, replace
from typing import TypeVar

import torch

from jumok.attention.heard import is_heard
from jumok.data.tokenizer import PAD, START
from jumok.decoding.beam import CANDIDATES, ReadAttention, beam_search, check_beam
from jumok.decoding.constrained import constrained_search
from jumok.decoding.constraints import Constraints
from jumok.decoding.filters import Filter, temperature, top_k, top_p
from jumok.decoding.greedy import greedy
from jumok.decoding.hypothesis import Hypothesis, Same
from jumok.decoding.limits import Limits, Prefixes
from jumok.decoding.rank import LengthPenalty, Ranker, google_length_penalty, power_length_penalty
from jumok.decoding.sample import sample
from jumok.errors import ConfigError
from jumok.models.memory import Decoder, Memory

State = TypeVar("State")

LENGTH_RULES = {"google": google_length_penalty, "power": power_length_penalty}


@dataclass(frozen=True)
class DecodingOptions:
    """How to decode.

    Attributes:
        beam: the beam size; 1 is greedy decoding. Ignored in sampling.
        nbest: the number of hypotheses for each sentence: the best of the beam, or samples.
        length_penalty: strength. 0 favours short outputs, 1 is roughly neutral.
        length_rule: "google" divides the log-probability by ((5 + length) / 6) ** strength,
            "power" by length ** strength (the plain average for 1).
        coverage_penalty: strength, 0 or above; needs the model's attention.
        patience: beam * patience finished hypotheses end a search. None: the search continues
            until no better hypothesis is possible.
        sample: sample tokens instead of beam search.
        temperature: that of sampling; below 1 sharpens the distribution.
        top_k: sample from the k most probable tokens. None: from all.
        top_p: nucleus sampling: from the smallest set of tokens with this total probability. None:
            from all.
        minimum_length, maximum_length: those of the target, in tokens, without END.
        maximum_ratio, maximum_extra: a further maximum, ratio * source length + extra; a ratio of
            None: no such maximum.
        no_repeat_ngram: never repeat an n-gram of this size; 0: off.
        forbidden: tokens that are never chosen; see `Limits`.
        seed: the random seed of sampling.

    Raises:
        ConfigError: an option out of range, or options that contradict each other.
    """

    beam: int = 5
    nbest: int = 1
    length_penalty: float = 1.0
    length_rule: str = "google"
    coverage_penalty: float = 0.0
    patience: float | None = 1.0
    sample: bool = False
    temperature: float = 1.0
    top_k: int | None = None
    top_p: float | None = None
    minimum_length: int = 0
    maximum_length: int = 256
    maximum_ratio: float | None = None
    maximum_extra: int = 10
    no_repeat_ngram: int = 0
    forbidden: tuple[int, ...] = (PAD, START)
    seed: int = 0

    def __post_init__(self) -> None:
        if self.sample:
            check_beam(self.nbest, self.nbest, self.patience)
        else:
            check_beam(self.beam, self.nbest, self.patience)
        if self.sample and self.coverage_penalty:
            raise ConfigError(
                "the coverage penalty needs beam search.",
                do="set coverage_penalty=0, or sample=False",
            )
        self.limits()
        self.ranker()
        self.filters()

    def limits(self) -> Limits:
        """The limits of every hypothesis."""
        return Limits(
            self.minimum_length,
            self.maximum_length,
            self.maximum_ratio,
            self.maximum_extra,
            self.no_repeat_ngram,
            forbidden=self.forbidden,
        )

    def ranker(self) -> Ranker:
        """The ranking of hypotheses."""
        if self.length_rule not in LENGTH_RULES:
            raise ConfigError(
                "unknown rule for the length penalty.",
                expected=" or ".join(LENGTH_RULES),
                got=self.length_rule,
            )
        penalty: LengthPenalty = LENGTH_RULES[self.length_rule](self.length_penalty)
        return Ranker(penalty, self.coverage_penalty)

    def filters(self) -> list[Filter]:
        """The filters before sampling: temperature, then top_k, then top_p."""
        filters = [temperature(self.temperature)]
        if self.top_k is not None:
            filters.append(top_k(self.top_k))
        if self.top_p is not None:
            filters.append(top_p(self.top_p))
        return filters


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

    A beam of one uses beam search, too, if the decoder has a listener to the candidates.

    Args:
        prefixes: the forced beginning of each row, without START. None: nothing.
        attention: gives the last step's attention to the source; needed for a coverage penalty
            (`jumok.decoding.coverage`).
        constraints: the phrases that each row must contain (`jumok.decoding.constrained`); such a
            search reports no candidates. None: no constraints.
        same: for beam search: the key of hypotheses that count as one (`Ranker`). None: all count.

    Raises:
        ConfigError: a coverage penalty without `attention`; constraints on samples.
        ModelError: a prefix or a constraint that cannot be forced, or logits that are not numbers.
    """
    limits, ranker = options.limits(), replace(options.ranker(), same=same)
    if options.sample:
        if constraints is not None and any(constraints):
            raise ConfigError(
                "constraints need beam search.", do="search with a beam: sample=False"
            )
        generator = torch.Generator(memory.states.device).manual_seed(options.seed % 2**63)
        return sample(
            decoder, memory, limits, generator, options.filters(), options.nbest, ranker, prefixes
        )
    if constraints is not None and any(constraints):
        return constrained_search(
            decoder, memory, options.beam, limits, constraints, ranker,
            options.nbest, options.patience, prefixes, attention,
        )  # fmt: skip
    if options.beam == 1 and not options.coverage_penalty and not is_heard(decoder, CANDIDATES):
        return [[best] for best in greedy(decoder, memory, limits, ranker, prefixes)]
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
