"""The options of decoding, with their help and their limits.

A new option is a field here; the commands, the routes of the server and the table in docs/cli.md
are made from these fields.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from jumok.data.special_tokens import PAD, START
from jumok.errors import ConfigError
from jumok.options import check_options, documented, option, options_of

if TYPE_CHECKING:
    from jumok.decoding.limits import Limits
    from jumok.decoding.rank import Ranker

SEARCH, LENGTH, SAMPLING = "Search", "Length and repetition", "Sampling"


@documented
@dataclass(frozen=True)
class DecodingOptions:
    """The options of decoding.

    Raises:
        ConfigError: an option is out of range, or options contradict each other.
    """

    beam: int = option(
        5,
        "Beam size; 1 = greedy decoding, or sampling.",
        *("--beam", "-b"),
        minimum=1,
        maximum=1000,
        panel=SEARCH,
    )
    nbest: int = option(
        1, "Number of outputs per input, best first.", minimum=1, maximum=1000, panel=SEARCH
    )
    patience: float | None = option(
        1.0,
        "Stop when this number times --beam hypotheses are finished (None: when no better "
        "hypothesis is possible).",
        above=0,
        maximum=1000,
        panel=SEARCH,
    )
    length_penalty: float = option(
        1.0,
        "Length penalty: 0 favours short outputs, 1 is roughly neutral.",
        minimum=-10,  # beyond 10 that of a long sentence overflows in float32
        maximum=10,
        panel=LENGTH,
    )
    length_rule: Literal["google", "power"] = option(
        "google",
        "Divisor of the log-probability: google = ((5 + length) / 6) ^ penalty; power = length ^ "
        "penalty (penalty 1: the plain average).",
        panel=LENGTH,
    )
    coverage_penalty: float = option(
        0.0,
        "Coverage penalty for source words with little attention (beam search only).",
        minimum=0,
        maximum=1000,
        panel=LENGTH,
    )
    minimum_length: int = option(
        0, "Minimum output length in tokens.", minimum=0, maximum=10**7, panel=LENGTH
    )
    maximum_length: int = option(
        256, "Maximum output length in tokens.", minimum=1, maximum=10**7, panel=LENGTH
    )
    maximum_ratio: float | None = option(
        None,
        "Maximum output length relative to the source: this number times the tokens of the source, "
        "plus --maximum-extra.",
        minimum=0,
        maximum=10**6,
        panel=LENGTH,
    )
    maximum_extra: int = option(
        10,
        "Tokens added to the limit of --maximum-ratio.",
        minimum=0,
        maximum=10**6,
        panel=LENGTH,
    )
    no_repeat_ngram: int = option(
        0,
        "Never repeat an n-gram of this length in tokens (0 = off).",
        minimum=0,
        maximum=10**6,
        panel=LENGTH,
    )
    frequency_penalty: float = option(
        0.0,
        "Subtract this from a token's score for each earlier occurrence (greedy decoding and "
        "sampling only).",
        minimum=-2,  # the limits of OpenAI's API
        maximum=2,
        panel=LENGTH,
    )
    presence_penalty: float = option(
        0.0,
        "Subtract this once from a token's score if the token has occurred (greedy decoding and "
        "sampling only).",
        minimum=-2,
        maximum=2,
        panel=LENGTH,
    )
    repetition_penalty: float = option(
        1.0,
        "Multiply a token's log-probability by this if the token has occurred; above 1 makes it "
        "less probable (greedy decoding and sampling only).",
        above=0,
        maximum=100,
        panel=LENGTH,
    )
    stop: tuple[str, ...] = option(
        (),
        "Stop at this text, which is left out of the output. Repeatable.",
        metavar="TEXT",
        panel=LENGTH,
    )
    sample: bool = option(
        False, "Sample instead of searching; --beam has no effect.", "--sample", panel=SAMPLING
    )
    temperature: float = option(
        1.0,
        "Temperature: below 1 sharpens the distribution, above 1 flattens it.",
        above=0,
        panel=SAMPLING,
        advice="for the most probable token at every step do not sample: jumok generate --greedy, "
        "jumok translate without --sample, sample=False",
    )
    top_k: int | None = option(
        None,
        "Top-k sampling: keep only the K most probable tokens.",
        minimum=1,
        maximum=10**6,
        panel=SAMPLING,
    )
    top_p: float | None = option(
        None,
        "Nucleus sampling: keep the smallest set of tokens whose probabilities add up to at least"
        " P.",
        above=0,
        maximum=1,
        panel=SAMPLING,
    )
    min_p: float | None = option(
        None,
        "Min-p sampling: keep tokens with at least P times the highest probability.",
        minimum=0,
        maximum=1,
        panel=SAMPLING,
    )
    seed: int = option(0, "Random seed for sampling.", minimum=0, maximum=2**64 - 1, panel=SAMPLING)
    forbidden: tuple[int, ...] = (PAD, START)
    """Tokens that are never generated; see `Limits`."""
    start: int = START
    """The first token of every target."""
    given: int = 0
    """Forced tokens without a probability of their own; see `Ranker`."""

    def __post_init__(self) -> None:
        check_options(self)
        self._check_search()
        if self.minimum_length > self.maximum_length:
            raise ConfigError(
                "the minimum length is above the maximum length.",
                expected=f"minimum_length <= {self.maximum_length}",
                got=f"minimum_length={self.minimum_length}",
            )
        searched = not self.sample and (self.beam > 1 or bool(self.coverage_penalty))
        if self.penalized and searched:
            raise ConfigError(
                "penalties on written tokens need greedy decoding or sampling.",
                got=f"beam={self.beam}, coverage_penalty={self.coverage_penalty}",
                do="set beam=1 and coverage_penalty=0, or sample=True",
            )

    def _check_search(self) -> None:
        if self.sample and self.coverage_penalty:
            raise ConfigError(
                "the coverage penalty needs beam search.",
                do="set coverage_penalty=0, or sample=False",
            )
        if not self.sample and self.nbest > self.beam:
            raise ConfigError(
                "a beam cannot return more hypotheses than it holds.",
                expected=f"nbest <= {self.beam}",
                got=f"nbest={self.nbest}",
                do=f"set beam={self.nbest} or more",
            )

    def changed(self, given: Mapping[str, Any]) -> "DecodingOptions":
        """These options, updated with the given ones.

        Raises:
            ConfigError: an option is out of range, or has no effect without sampling.
        """
        if all(getattr(self, name) == value for name, value in given.items()):
            return self
        options = replace(self, **given)
        idle = [
            name
            for name in options.differing
            if name != "sample" and options_of(DecodingOptions)[name].option.panel == SAMPLING
        ]
        if idle and not options.sample:
            raise ConfigError(
                "these options are for sampling.",
                got=", ".join(idle),
                do="sample (--sample; for jumok generate neither --greedy nor --beam), or leave "
                "them out",
            )
        return options

    @property
    def differing(self) -> dict[str, Any]:
        """The options whose values differ from the defaults of `DecodingOptions`."""
        known = options_of(DecodingOptions).items()
        values = {name: getattr(self, name) for name, _ in known}
        return {name: values[name] for name, each in known if values[name] != each.default}

    def seeded(self, place: int) -> "DecodingOptions":
        """These options, with the seed of the samples for the texts from this index on."""
        if not self.sample or not place:
            return self
        return replace(self, seed=(self.seed + place) % 2**64)

    def check_constrained(self) -> None:
        """Raises ConfigError if these options do not allow constraints."""
        if self.sample:
            raise ConfigError(
                "constraints need beam search.", do="search with a beam: sample=False"
            )
        if self.penalized:
            raise ConfigError(
                "penalties on written tokens need one token after the other, and constraints a "
                "search.",
                do="leave out frequency_penalty, presence_penalty and repetition_penalty, or the "
                "constraints",
            )

    @property
    def penalized(self) -> bool:
        """Whether a penalty applies to tokens that have occurred."""
        return bool(self.frequency_penalty or self.presence_penalty or self.repetition_penalty != 1)

    @cached_property
    def limits(self) -> "Limits":
        """The limits of every hypothesis."""
        from jumok.decoding.limits import Limits

        return Limits(
            self.minimum_length,
            self.maximum_length,
            self.maximum_ratio,
            self.maximum_extra,
            self.no_repeat_ngram,
            start=self.start,
            forbidden=self.forbidden,
        )

    @cached_property
    def ranker(self) -> "Ranker":
        from jumok.decoding.rank import Ranker, google_length_penalty, power_length_penalty

        rules = {"google": google_length_penalty, "power": power_length_penalty}
        penalty = rules[self.length_rule](self.length_penalty)
        return Ranker(penalty, self.coverage_penalty, given=self.given)


FOR_TRANSLATION = DecodingOptions(maximum_ratio=3.0)
"""The defaults of translation. No language needs three target tokens per source token; the limit
ends runaway repetition."""

FOR_CAPTIONS = DecodingOptions()
"""The defaults of captioning, where the length limit does not depend on the image."""

ONLY_FOR_CONTINUATION = ("stop",)
"""The options of language models only."""

FOR_CONTINUATION = DecodingOptions(beam=1, sample=True)
"""The defaults of language models."""

NOT_FOR_CONTINUATION = (
    *("nbest", "coverage_penalty", "minimum_length", "maximum_length", "maximum_ratio"),
    "maximum_extra",
)
"""The options that language models lack; `max_tokens` sets the length of their texts."""
