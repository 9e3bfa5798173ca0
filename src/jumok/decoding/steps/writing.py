"""A text, token by token: the twin of `decoding/autoregressive.py` without torch."""

from collections.abc import Callable, Sequence

import numpy as np

from jumok.decoding.drawing import Draws
from jumok.decoding.hypothesis import Hypothesis
from jumok.decoding.limits import Limits
from jumok.decoding.options import DecodingOptions
from jumok.decoding.rank import Ranker
from jumok.decoding.steps.limiting import close_early_end, forbid, forbid_repeats
from jumok.decoding.steps.sentence import Reading, Scores, SentenceSearch
from jumok.engine.choosing import Sampling, WrittenCounts, draw

Choose = Callable[[Scores], int]
"""The next token, from the log-probabilities of all, lowered by penalties."""


class WrittenText(SentenceSearch):
    """A text that is written in one slot.

    Args:
        longest: the maximum number of tokens.
        forced: its first tokens.
        counts: of the tokens that it has; None: no penalties on these.
    """

    def __init__(
        self,
        limits: Limits,
        ranker: Ranker,
        longest: int,
        forced: Sequence[int],
        slot: int,
        choose: Choose,
        counts: WrittenCounts | None,
    ) -> None:
        self._limits, self._ranker, self._longest, self._forced = limits, ranker, longest, forced
        self._slot, self._choose, self._counts = slot, choose, counts
        self.slots = slot + 1
        self._tokens: list[int] = []
        self._values: list[float] = []
        self._over = False

    def reading(self) -> list[Reading]:
        """Its last token."""
        if self._over:
            return []
        last = self._tokens[-1] if self._tokens else self._limits.start
        return [Reading(last, len(self._tokens), self._slot)]

    def advance(self, scores: Scores) -> None:
        """Writes a token, or ends the text."""
        length = len(self._tokens)
        close_early_end(scores, self._limits, length)
        forced = length < len(self._forced)
        token = self._forced[length] if forced else self._next(scores)
        ended = token == self._limits.end
        self._over = ended or length == self._longest
        if ended or not self._over:
            self._values.append(float(scores[0, token]))
        if not self._over:
            self._tokens.append(token)
            if self._counts is not None and not forced:
                self._counts.note(token)

    def found(self) -> list[Hypothesis]:
        """The text, with the model's own log-probabilities."""
        return [self._ranker.rate(self._tokens, self._values)]

    def _next(self, scores: Scores) -> int:
        forbid(scores, self._limits)
        forbid_repeats(scores, [self._tokens], self._limits.no_repeat_ngram)
        (row,) = scores
        return self._choose(row if self._counts is None else self._counts.penalised(row))


def text_written_with(
    options: DecodingOptions,
    longest: int,
    forced: Sequence[int],
    slot: int,
    place: int,
    vocabulary: int,
) -> WrittenText:
    """A text that is sampled, or written by the most probable tokens.

    Args:
        place: which of the texts that are sampled with this seed.
    """
    counts = None
    if options.penalised:
        counts = WrittenCounts(options.frequency_penalty, options.presence_penalty, vocabulary)
    return WrittenText(
        options.limits(), options.ranker(), longest, forced, slot, chooser(options, place), counts
    )


def chooser(options: DecodingOptions, place: int = 0) -> Choose:
    """The most probable token, or a sample.

    Args:
        place: which of the texts that are sampled with this seed.
    """
    if not options.sample:
        return lambda scores: int(np.argmax(scores))
    sampling = Sampling(options.temperature, options.top_k, options.top_p, options.min_p)
    draws = Draws(options.seed, place)
    return lambda scores: draw(sampling.of(scores), draws.next())
