"""The limits of every hypothesis: its length, its tokens, its forced prefix."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor

from jumok.data.tokenizer import END, PAD, START
from jumok.errors import ConfigError, ModelError

Prefixes = Sequence[Sequence[int]]


@dataclass(frozen=True)
class Limits:
    """The permitted lengths and tokens of a hypothesis.

    Lengths count tokens without START and END. A row whose source has n real positions may have

        min(maximum_length, floor(maximum_ratio * n) + maximum_extra)

    tokens, though never fewer than `minimum_length` and 1. A hypothesis of this length is finished
    if END is its most probable next token (if END is sampled, in sampling), and is cut otherwise.

    Attributes:
        maximum_ratio: None: the length of the source sets no limit.
        no_repeat_ngram: an n-gram of this size never occurs twice in a hypothesis; 0: it may.
        minimum_length: below it END is removed before the softmax, as in CTranslate2, so the other
            tokens share its probability. If it were removed afterwards, as in Hugging Face,
            hypotheses with a probable END would lose that probability, and others would win.
        forbidden: tokens that are never chosen. They keep their probability: that of the others is
            not raised in compensation, so scores agree with `score_pairs`.

    Raises:
        ConfigError: no token would be allowed.
    """

    minimum_length: int = 0
    maximum_length: int = 256
    maximum_ratio: float | None = None
    maximum_extra: int = 10
    no_repeat_ngram: int = 0
    start: int = START
    end: int = END
    forbidden: tuple[int, ...] = (PAD, START)

    def __post_init__(self) -> None:
        if self.end in self.forbidden:
            raise ConfigError(
                "no sentence could end: the end token is forbidden.", got=f"end={self.end}"
            )

    def longest_of(self, length: int) -> int:
        """The maximum length of a target whose source has this many positions, END's included."""
        if self.maximum_ratio is None:
            return self.maximum_length
        by_source = floor(self.maximum_ratio * length) + self.maximum_extra
        return min(max(by_source, self.minimum_length, 1), self.maximum_length)


def check_prefixes(
    prefixes: Prefixes, limits: Limits, longest: Sequence[int], vocabulary_size: int
) -> None:
    """Raises ModelError if a prefix is missing, too long, or has tokens that cannot be forced."""
    if len(prefixes) != len(longest):
        raise ModelError(
            "every sentence needs a forced prefix, which may be empty.",
            expected=f"{len(longest)} prefixes",
            got=str(len(prefixes)),
        )
    for row, (prefix, maximum) in enumerate(zip(prefixes, longest, strict=True)):
        if len(prefix) > maximum:
            raise ModelError(
                f"the forced prefix of sentence {row} is longer than its target may get.",
                expected=f"at most {maximum} tokens",
                got=f"{len(prefix)} tokens",
                do="raise maximum_length (or maximum_ratio), or shorten the prefix",
            )
        check_target_tokens(prefix, limits, vocabulary_size, f"the forced prefix of sentence {row}")


def check_target_tokens(
    tokens: Sequence[int], limits: Limits, vocabulary_size: int, name: str
) -> None:
    """Raises ModelError if a token is outside the vocabulary or is START or END."""
    for token in tokens:
        if not 0 <= token < vocabulary_size:
            raise ModelError(
                f"{name} holds a token outside the vocabulary.",
                expected=f"ids from 0 to {vocabulary_size - 1}",
                got=str(token),
            )
        if token in (limits.start, limits.end):
            raise ModelError(
                f"{name} holds the start or the end token.",
                expected=f"tokens without START ({limits.start}) and END ({limits.end})",
                got=str(token),
                do="leave them out; decoding adds them",
            )
