"""The options of decoding. Importing it imports no torch."""

from __future__ import annotations

from dataclasses import dataclass

from jumok.data.tokenizer import PAD, START
from jumok.decoding.drawing import (
    check_min_p,
    check_penalty,
    check_temperature,
    check_top_k,
    check_top_p,
)
from jumok.decoding.limits import Limits, check_beam
from jumok.decoding.rank import LengthPenalty, Ranker, google_length_penalty, power_length_penalty
from jumok.errors import ConfigError
from jumok.late import late_imports

with late_imports():
    from jumok.decoding import filters as decoding_filters

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
        min_p: sample from the tokens with at least this share of the probability of the most
            probable one. None: from all.
        frequency_penalty, presence_penalty: -2 to 2; lower the score of a token by so much for each
            time that it was written, or once if it was (`jumok.decoding.filters.Penalties`). In
            greedy decoding and sampling only.
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
    min_p: float | None = None
    frequency_penalty: float = 0.0
    presence_penalty: float = 0.0
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
        self._check_sampling()
        self._check_penalties()

    def _check_sampling(self) -> None:
        check_temperature(self.temperature)
        if self.top_k is not None:
            check_top_k(self.top_k)
        if self.top_p is not None:
            check_top_p(self.top_p)
        if self.min_p is not None:
            check_min_p(self.min_p)

    def _check_penalties(self) -> None:
        check_penalty("frequency", self.frequency_penalty)
        check_penalty("presence", self.presence_penalty)
        searched = not self.sample and (self.beam > 1 or bool(self.coverage_penalty))
        if self.penalised and searched:
            raise ConfigError(
                "frequency and presence penalties need greedy decoding or sampling.",
                got=f"beam={self.beam}, coverage_penalty={self.coverage_penalty}",
                do="set beam=1 and coverage_penalty=0, or sample=True",
            )

    def check_constrained(self) -> None:
        """Raises ConfigError if phrases cannot be forced with these options."""
        if self.sample:
            raise ConfigError(
                "constraints need beam search.", do="search with a beam: sample=False"
            )
        if self.penalised:
            raise ConfigError(
                "frequency and presence penalties need one token after the other, and constraints "
                "a search.",
                do="leave out frequency_penalty and presence_penalty, or the constraints",
            )

    @property
    def penalised(self) -> bool:
        """Whether tokens that were written before are penalised, or favoured."""
        return bool(self.frequency_penalty or self.presence_penalty)

    def penalties(self) -> decoding_filters.Penalties:
        """The penalties on tokens that were written before."""
        return decoding_filters.Penalties(self.frequency_penalty, self.presence_penalty)

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

    def filters(self) -> list[decoding_filters.Filter]:
        """The filters before sampling: temperature, then top_k, top_p and min_p."""
        filters = [decoding_filters.temperature(self.temperature)]
        if self.top_k is not None:
            filters.append(decoding_filters.top_k(self.top_k))
        if self.top_p is not None:
            filters.append(decoding_filters.top_p(self.top_p))
        if self.min_p is not None:
            filters.append(decoding_filters.min_p(self.min_p))
        return filters
