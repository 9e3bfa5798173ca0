"""Writing a text token by token: each the most probable one, or a sample."""

from collections.abc import Callable, Sequence
from math import isfinite

import numpy as np

from jumok.decoding.hypothesis import Hypothesis
from jumok.decoding.options import DecodingOptions
from jumok.decoding.rank import no_probability
from jumok.decoding.sampling import Draws, Sampling, WrittenCounts, draw_token, repeats
from jumok.decoding.stepper import NextTokens, Reading, Scores, SentenceSearch

Watch = Callable[[Scores], None]
"""Receives the log-probabilities of a step, (vocabulary), when its token is chosen, unless that is
END."""


class WrittenText(SentenceSearch):
    """A text that is written in one slot.

    Attributes:
        tokens: those that it has, without START and END.
        longest: the maximum number of them.

    Args:
        beginning: how many of these are read at once.
        place: which of the texts that are sampled with this seed.
    """

    def __init__(
        self,
        options: DecodingOptions,
        longest: int,
        forced: Sequence[int] = (),
        beginning: int = 0,
        slot: int = 0,
        place: int = 0,
        watch: Watch | None = None,
    ) -> None:
        self._options, self._limits, self.longest = options, options.limits, longest
        self._forced, self._slot, self._watch = forced, slot, watch
        self.slots = slot + 1
        self.tokens = list(forced[:beginning])
        self._values: list[float] = []
        self._read = 0  # tokens, START included
        self._over = False
        self._draws = Draws(options.seed, place)
        self._sampling = Sampling(options.temperature, options.top_k, options.top_p, options.min_p)
        self._counts = WrittenCounts(
            options.frequency_penalty, options.presence_penalty, options.repetition_penalty
        )
        self._whole = options.sample or options.penalized or watch is not None
        self._banned: list[int] = []

    def reading(self) -> list[Reading]:
        """Its last token, or its beginning."""
        if self._over:
            return []
        limits, length = self._limits, len(self.tokens)
        unread, place = (limits.start, *self.tokens)[self._read :], self._read
        without = limits.end if length < limits.minimum_length else None
        if length < len(self._forced):
            asked = (self._forced[length],)
            return [Reading(unread, place, self._slot, asked=asked, without=without)]
        repeating = limits.no_repeat_ngram
        self._banned = [*limits.forbidden, *(repeats(self.tokens, repeating) if repeating else ())]
        best = 0 if self._whole else 1 + len(self._banned)
        return [Reading(unread, place, self._slot, None, best, (), self._whole, without)]

    def advance(self, step: NextTokens) -> None:
        """Writes a token, or ends the text.

        Raises:
            ModelError: the token has no probability.
        """
        self._values += step.begun[0].tolist()
        length = len(self.tokens)
        self._read = length + 1
        forced = length < len(self._forced)
        if forced:
            token, value = self._forced[length], float(step.asked[0, 0])
        else:
            token, value = self._drawn(step) if self._whole else self._best(step)
        ended = token == self._limits.end
        self._over = ended or length == self.longest
        if self._over and not ended:
            return
        if not isfinite(value):
            raise no_probability(f"{value} after {length} tokens")
        self._values.append(value)
        if self._over:
            return
        if self._watch is not None and step.whole is not None:
            self._watch(step.whole[0])
        self.tokens.append(token)
        if not forced:
            self._counts.note(token)

    def hypotheses(self) -> list[Hypothesis]:
        return [self._options.ranker.rate(self.tokens, self._values)]

    def _best(self, step: NextTokens) -> tuple[int, float]:
        """The most probable token that is permitted, the lower id of equals."""
        (tokens,), (values,) = step.tokens, step.values
        for token, value in zip(tokens.tolist(), values.tolist(), strict=True):
            if token not in self._banned:
                return token, value
        return self._limits.end, -np.inf

    def _drawn(self, step: NextTokens) -> tuple[int, float]:
        assert step.whole is not None
        (scores,) = step.whole
        scores[self._banned] = -np.inf
        lowered = self._counts.penalized(scores) if self._options.penalized else scores
        if self._options.sample:
            token = draw_token(self._sampling.of(lowered), self._draws.next())
        else:
            token = int(np.argmax(lowered))
        return token, float(scores[token])
