"""Beam search for one sentence."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from math import ceil, inf

import numpy as np
import numpy.typing as npt

from jumok.decoding.hypothesis import Hypothesis, SameTokens
from jumok.decoding.limits import Limits
from jumok.decoding.rank import Ranker, no_probability
from jumok.decoding.sampling import repeats
from jumok.decoding.stepper import NextTokens, Reading, Scores, SentenceSearch

Cover = Callable[[int, Sequence[Sequence[int]]], list[float]]
"""From (number of a sentence, whole hypotheses of it) to the log coverage of each."""


@dataclass(frozen=True, slots=True)
class Extended:
    """A hypothesis with one token more.

    Attributes:
        value: the log-probability of the token alone.
        total: that of the whole hypothesis.
    """

    parent: int
    token: int
    value: float
    total: float


@dataclass(frozen=True)
class BeamCandidate:
    """A hypothesis that a step of the search considers.

    Attributes:
        kept: stays in the beam.
        finished: ended here with END, among the best of its beam.
    """

    extended: Extended
    kept: bool
    finished: bool


Report = Callable[[int, Sequence[BeamCandidate]], None]
"""Receives the number of a sentence and the candidates of a step, best first."""


@dataclass(frozen=True)
class BeamRules:
    """How the beams of all sentences of a call are searched.

    A step extends every live hypothesis by every token and takes the best 2 * `beam` by
    log-probability (of equals: the better hypothesis, then the lower id). Those of the first
    `beam` that end leave the beam; the best `beam` of those that do not end stay in it.
    The search for a sentence stops when `beam` * `patience` hypotheses are finished, or when no
    live one can still get a score above the worst that is kept. Fewer than `nbest` are returned
    where fewer are found.

    Attributes:
        patience: Source: Kasai et al. 2022, "A Call for Clarity in Beam Search". None: only the
            second rule stops a search: a better score, but more steps and long repetitions.
    """

    beam: int
    limits: Limits
    ranker: Ranker
    nbest: int = 1
    patience: float | None = 1.0
    cover: Cover | None = None
    report: Report | None = None

    @property
    def enough(self) -> int | None:
        """The number of finished hypotheses that ends a search; None: no number does."""
        if self.patience is None:
            return None
        return max(self.nbest, ceil(self.beam * self.patience))


class Pool:
    """The hypotheses of a sentence that have left the beam. The cut ones, which are only beginnings
    of sentences, come after all finished ones, whatever their scores.

    Args:
        wanted: the number of hypotheses that are returned.
        enough: the number of finished ones that ends the search; None: none does.
    """

    def __init__(self, wanted: int, enough: int | None, same: SameTokens | None) -> None:
        self._wanted, self._enough, self._same = wanted, enough, same
        self._finished: list[Hypothesis] = []
        self._cut: list[Hypothesis] = []

    def add(self, hypotheses: Sequence[Hypothesis]) -> None:
        """The earlier of two equals stays ahead."""
        for hypothesis in hypotheses:
            (self._finished if hypothesis.finished else self._cut).append(hypothesis)
        self._finished = self._ranked(self._finished)

    def settled(self, bound: np.float32) -> bool:
        """Whether no hypothesis with a score of `bound` or less can change the result."""
        finished = self._finished
        if self._enough is not None and len(finished) >= self._enough:
            return True
        worst = finished[self._wanted - 1].score if len(finished) >= self._wanted else -inf
        return bool(bound <= np.float32(worst))

    def best(self) -> list[Hypothesis]:
        """The `wanted` best hypotheses, or all if there are fewer."""
        return self._once([*self._finished, *self._ranked(self._cut)])[: self._wanted]

    def _ranked(self, hypotheses: list[Hypothesis]) -> list[Hypothesis]:
        return self._once(sorted(hypotheses, key=lambda hypothesis: -hypothesis.score))

    def _once(self, ranked: list[Hypothesis]) -> list[Hypothesis]:
        """Drops those with the key of an earlier one."""
        if self._same is None:
            return ranked
        first: dict[Hashable, Hypothesis] = {}
        for hypothesis in ranked:
            first.setdefault(self._same(hypothesis.tokens), hypothesis)
        return list(first.values())


@dataclass(frozen=True, eq=False, slots=True)
class Live:
    """A hypothesis in the beam.

    Attributes:
        total: its log-probability, which is added up in float32.
        tokens: without START.
        values: the log-probability of each token.
        ancestors: the slots in which its tokens are but the last one, which is in its own.
    """

    total: float
    tokens: tuple[int, ...]
    values: tuple[float, ...]
    ancestors: npt.NDArray[np.int32]


class SentenceBeam(SentenceSearch):
    """The beam of one sentence; hypothesis w of it is in slot w.

    Args:
        forced: the first tokens of every hypothesis.
        beginning: how many of these are read at once.
    """

    def __init__(
        self, rules: BeamRules, row: int, longest: int, forced: Sequence[int], beginning: int = 0
    ) -> None:
        self._rules, self._row, self._longest, self._forced = rules, row, longest, forced
        self._limits, self.slots = rules.limits, rules.beam
        self._pool = Pool(rules.nbest, rules.enough, rules.ranker.same)
        self._penalties = rules.ranker.penalties(longest)
        self._live = [Live(0.0, tuple(forced[:beginning]), (), np.zeros(beginning, np.int32))]
        self._length, self._read = beginning, 0
        self._banned: list[list[int]] = []

    def reading(self) -> list[Reading]:
        """The last token of every hypothesis in the beam."""
        limits, length = self._limits, self._length
        self._banned = self._repeating()
        forced = length < len(self._forced)
        most = max(map(len, self._banned), default=0)
        best = 0 if forced else 2 * self.slots + len(limits.forbidden) + most
        without = limits.end if length < limits.minimum_length else None
        readings = []
        for slot, each in enumerate(self._live):
            asked = (self._forced[length],) if forced else self._asked(slot)
            unread = (limits.start, *each.tokens)[self._read :]
            ancestors = each.ancestors[: self._read]
            readings.append(
                Reading(unread, self._read, slot, ancestors, best, asked, without=without)
            )
        return readings

    def advance(self, step: NextTokens) -> None:
        """Extends every hypothesis in the beam by every token, and keeps the best."""
        self._read = self._length + 1
        if step.begun.size:
            (begun,) = step.begun.copy()  # nothing has branched yet
            begun[: self._rules.ranker.given] = 0.0
            total = float(begun.sum(dtype=np.float32))
            (one,) = self._live
            self._live = [Live(total, one.tokens, tuple(begun.tolist()), one.ancestors)]
        if self._length < len(self._forced):
            self._force(step)
        elif self._length == self._longest:
            self._close(step)
        else:
            self._branch(step)
        self._length += 1

    def hypotheses(self) -> list[Hypothesis]:
        best = self._pool.best()
        if not best:
            raise no_probability(f"no hypothesis for sentence {self._row}")
        return best

    def _asked(self, slot: int) -> tuple[int, ...]:
        del slot
        return (self._limits.end,)

    def _repeating(self) -> list[list[int]]:
        """For each hypothesis the tokens that would write an n-gram a second time."""
        count = self._limits.no_repeat_ngram
        if not count or self._length < len(self._forced):
            return []
        return [repeats(each.tokens, count) for each in self._live]

    def _force(self, step: NextTokens) -> None:
        """The forced token follows, even if it is forbidden; it keeps its own log-probability if it
        is not given.
        """
        token, value = self._forced[self._length], float(step.asked[0, 0])  # nothing has branched
        if self._length < self._rules.ranker.given:
            value = 0.0
        total = float(np.float32(self._live[0].total) + np.float32(value))
        self._extend([Extended(0, token, value, total)] if total > -inf else [])

    def _permitted(self, step: NextTokens) -> Scores:
        """The log-probabilities of the best tokens, minus infinity where one may not follow."""
        values = step.values
        for token in self._limits.forbidden:
            values = np.where(step.tokens == token, np.float32(-inf), values)
        for row, banned in enumerate(self._banned):
            if banned:
                values[row, np.isin(step.tokens[row], banned)] = -inf
        return values

    def _extensions(self, step: NextTokens) -> list[Extended]:
        """The best 2 * beam hypotheses with one token more, best first."""
        values = self._permitted(step)
        before = np.array([each.total for each in self._live], np.float32)
        totals = (before[:, None] + values).ravel()
        tokens, width = step.tokens.ravel(), values.shape[1]
        parents = np.arange(len(totals)) // width
        order = np.lexsort((tokens, parents, -totals))[: 2 * self.slots]
        chosen = parents[order], tokens[order], values.ravel()[order], totals[order]
        return [
            Extended(*each)
            for each in zip(*(column.tolist() for column in chosen), strict=True)
            if each[3] > -inf
        ]

    def _branch(self, step: NextTokens) -> None:
        beam, end = self.slots, self._limits.end
        candidates = self._extensions(step)
        self._finish(step, [each.parent for each in candidates[:beam] if each.token == end])
        live = [each for each in candidates if each.token != end][:beam]
        going = [] if self._settled(live[0].total if live else -inf) else live
        self._tell(candidates, going, candidates[:beam])
        self._extend(going)

    def _tell(
        self, candidates: Sequence[Extended], kept: Sequence[Extended], may_end: Sequence[Extended]
    ) -> None:
        if self._rules.report is not None:
            end = self._limits.end
            reported = [
                BeamCandidate(each, each in kept, each.token == end and each in may_end)
                for each in candidates
            ]
            self._rules.report(self._row, reported)

    def _extend(self, chosen: Sequence[Extended]) -> None:
        live = self._live
        self._live = [
            Live(
                float(np.float32(each.total)),
                (*live[each.parent].tokens, each.token),
                (*live[each.parent].values, each.value),
                np.append(live[each.parent].ancestors, np.int32(each.parent)),
            )
            for each in chosen
        ]

    def _settled(self, best: float) -> bool:
        """Whether no live hypothesis, of which `best` has the highest total, can change the
        result.
        """
        penalty = max(self._penalties[self._longest + 1], self._penalties[self._length + 2])
        return self._pool.settled(np.float32(best) / penalty)

    def _finish(self, step: NextTokens, parents: Sequence[int]) -> None:
        ends = step.asked[:, 0]
        self._add([(self._live[parent], float(ends[parent])) for parent in parents])

    def _close(self, step: NextTokens) -> None:
        """Moves all to the pool, at the maximum length: cut, but where END is the most probable."""
        values, end = self._permitted(step), self._limits.end
        rows = np.arange(len(values))
        first = values.argmax(axis=1)
        ended = (step.tokens[rows, first] == end) & (values[rows, first] > -inf)
        self._tell(self._extensions(step), (), ())
        self._add(
            [
                (each, float(step.asked[slot, 0]) if ended[slot] else None)
                for slot, each in enumerate(self._live)
            ]
        )
        self._live = []

    def _add(self, hypotheses: Sequence[tuple[Live, float | None]]) -> None:
        """Adds hypotheses to the pool, with END's log-probability, or None for a cut one."""
        if not hypotheses:
            return
        covered, rate = [0.0] * len(hypotheses), self._rules.ranker.rate
        if self._rules.cover is not None:
            covered = self._rules.cover(self._row, [each.tokens for each, _ in hypotheses])
        rated = [
            rate(each.tokens, each.values if end is None else (*each.values, end), coverage)
            for (each, end), coverage in zip(hypotheses, covered, strict=True)
        ]
        self._pool.add(rated)
