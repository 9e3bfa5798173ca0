"""The limits of every hypothesis: its length, its tokens, its forced prefix.

Importing it imports no torch: the native engine follows the same limits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor, inf

from jumok.data.tokenizer import END, PAD, START
from jumok.errors import ConfigError, ModelError
from jumok.late import late_imports

with late_imports():
    import torch

    from jumok import shapes
    from jumok.decoding import filters
    from jumok.models import memory as models_memory

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
        start: the first token that a decoder reads.
        end: the last token that a decoder writes.
        no_repeat_ngram: an n-gram of this size never occurs twice in a hypothesis; 0: it may.
        forbidden: tokens that are never chosen. They keep their probability: that of the others is
            not raised in compensation, so scores agree with `score_pairs`.

    Raises:
        ConfigError: no length or no token would be allowed.
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
        if self.minimum_length < 0 or self.maximum_length < 1:
            raise ConfigError(
                "invalid limits on the length of the target.",
                expected="minimum_length >= 0 and maximum_length >= 1",
                got=f"minimum_length={self.minimum_length}, maximum_length={self.maximum_length}",
            )
        if self.minimum_length > self.maximum_length:
            raise ConfigError(
                "the minimum length is above the maximum length.",
                expected=f"minimum_length <= {self.maximum_length}",
                got=f"minimum_length={self.minimum_length}",
            )
        if self.maximum_extra < 0 or (self.maximum_ratio is not None and self.maximum_ratio < 0):
            raise ConfigError(
                "the maximum length must not shrink as the source grows.",
                expected="maximum_ratio >= 0 and maximum_extra >= 0",
                got=f"maximum_ratio={self.maximum_ratio}, maximum_extra={self.maximum_extra}",
            )
        if self.no_repeat_ngram < 0:
            raise ConfigError(
                "no_repeat_ngram must be 0 (off) or positive.",
                expected="no_repeat_ngram >= 0; 0 lets everything repeat",
                got=f"no_repeat_ngram={self.no_repeat_ngram}",
            )
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

    def longest(self, memory: models_memory.Memory) -> shapes.Int[torch.Tensor, " batch"]:
        """The maximum length of every row: `longest_of` its real positions."""
        batch, positions, _ = memory.states.shape
        if memory.lengths is not None:
            real = memory.lengths
        elif memory.allowed is None:
            real = torch.full((batch,), positions, device=memory.states.device)
        else:
            real = memory.allowed.sum(1)
        if self.maximum_ratio is None:
            return torch.full_like(real, self.maximum_length)
        by_source = (real.double() * self.maximum_ratio).floor().long() + self.maximum_extra
        return by_source.clamp(max(self.minimum_length, 1), self.maximum_length)

    def log_probabilities(
        self,
        logits: shapes.Float[torch.Tensor, "batch vocabulary"],
        length: int,
        forced: shapes.Int[torch.Tensor, " batch"] | None = None,
        written: shapes.Int[torch.Tensor, "batch length"] | None = None,
    ) -> shapes.Float[torch.Tensor, "batch vocabulary"]:
        """The log-probability, in float32, of every token that may follow `length` tokens.

        Below the minimum length END is removed before the softmax, as in CTranslate2, so the other
        tokens share its probability. If it were removed afterwards, as in Hugging Face, hypotheses
        with a probable END would lose that probability, and others would win the beam.

        Args:
            forced: the one token that may follow in each row, even if forbidden; FREE where
                nothing is forced. It keeps its own log-probability.
            written: those tokens, for `no_repeat_ngram`.
        """
        logits = logits.float()
        if length < self.minimum_length:
            logits = filters.forbid((self.end,))(logits)
        everything = logits.log_softmax(1)
        allowed = filters.forbid(self.forbidden)(everything)
        if self.no_repeat_ngram and written is not None:
            allowed = filters.no_repeat(written, self.no_repeat_ngram)(allowed)
        if forced is None:
            return allowed
        return torch.where(
            (forced == filters.FREE)[:, None], allowed, filters.force(forced)(everything)
        )

    def forced_tokens(
        self,
        prefixes: Prefixes | None,
        longest: shapes.Int[torch.Tensor, " batch"],
        vocabulary_size: int,
    ) -> shapes.Int[torch.Tensor, "batch prefix"]:
        """The table of forced tokens: row i begins with `prefixes[i]`, then FREE.

        Args:
            prefixes: one a row, without START; an empty one forces nothing. None: no prefixes.

        Raises:
            ModelError: a prefix is missing, too long, or has tokens that cannot be in a sentence.
        """
        if prefixes is None:
            return torch.empty((len(longest), 0), dtype=torch.long, device=longest.device)
        check_prefixes(prefixes, self, longest.tolist(), vocabulary_size)
        width = max(map(len, prefixes), default=0)
        padded = [[*prefix, *[filters.FREE] * (width - len(prefix))] for prefix in prefixes]
        table = torch.tensor(padded, dtype=torch.long, device=longest.device)
        return table.view(len(prefixes), width)


def check_prefixes(
    prefixes: Prefixes, limits: Limits, longest: Sequence[int], vocabulary_size: int
) -> None:
    """Raises ModelError if a prefix is missing, too long, or has tokens that cannot be forced.

    Args:
        longest: the maximum length of every row.
    """
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
        check_tokens(prefix, limits, vocabulary_size, f"the forced prefix of sentence {row}")


def check_tokens(tokens: Sequence[int], limits: Limits, vocabulary_size: int, name: str) -> None:
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


def check_beam(beam: int, nbest: int, patience: float | None) -> None:
    """Raises ConfigError if a beam of this size cannot return `nbest` hypotheses."""
    if beam < 1 or nbest < 1:
        raise ConfigError(
            "the beam size and the number of hypotheses to return must be at least 1.",
            expected="beam >= 1 and nbest >= 1",
            got=f"beam={beam}, nbest={nbest}",
        )
    if nbest > beam:
        raise ConfigError(
            "a beam cannot return more hypotheses than it holds.",
            expected=f"nbest <= {beam}",
            got=f"nbest={nbest}",
            do=f"set beam={nbest} or more",
        )
    if patience is not None and not 0 < patience < inf:
        raise ConfigError(
            "the patience of the beam must be a positive number, or None.", got=str(patience)
        )
