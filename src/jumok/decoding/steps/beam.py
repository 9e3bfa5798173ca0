"""Beam search for one sentence: the twin of `decoding/beam.py` without torch."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, inf

import numpy as np
import numpy.typing as npt

from jumok.decoding.hypothesis import Hypothesis
from jumok.decoding.limits import Limits
from jumok.decoding.pool import Pool
from jumok.decoding.rank import Ranker, no_probability
from jumok.decoding.steps.covering import Cover
from jumok.decoding.steps.limiting import close_early_end, forbid, forbid_repeats
from jumok.decoding.steps.sentence import Reading, Scores, SentenceSearch
from jumok.engine.choosing import largest

NO_SLOTS = np.zeros(0, np.int32)


@dataclass(frozen=True)
class BeamRules:
    """How the beams of all sentences of a call are searched; see `beam_search`.

    Attributes:
        cover: gives the log coverage of hypotheses; None: without a coverage penalty.
    """

    beam: int
    limits: Limits
    ranker: Ranker
    nbest: int = 1
    patience: float | None = 1.0
    cover: Cover | None = None

    def pool(self) -> Pool:
        """An empty one, for one sentence."""
        enough = None if self.patience is None else max(self.nbest, ceil(self.beam * self.patience))
        return Pool(1, self.nbest, enough, self.ranker.same)


@dataclass(frozen=True, eq=False)
class Live:
    """A hypothesis in the beam.

    Attributes:
        total: its log-probability, which is added up in float32.
        tokens: without START. values: the log-probability of each.
        ancestors: the slots in which its tokens are but the last one, which is in its own.
    """

    total: float
    tokens: tuple[int, ...]
    values: tuple[float, ...]
    ancestors: npt.NDArray[np.int32]


class SentenceBeam(SentenceSearch):
    """The beam of one sentence; hypothesis w of it is in slot w.

    Args:
        row: the sentence's number, for errors.
        longest: the maximum number of tokens.
        forced: the first tokens of every hypothesis.
    """

    def __init__(self, rules: BeamRules, row: int, longest: int, forced: Sequence[int]) -> None:
        self._rules, self._row, self._longest, self._forced = rules, row, longest, forced
        self._limits, self.slots = rules.limits, rules.beam
        self._pool = rules.pool()
        self._penalties = rules.ranker.penalties(longest)
        self._live = [Live(0.0, (), (), NO_SLOTS)]
        self._length = 0

    def reading(self) -> list[Reading]:
        """The last token of every hypothesis in the beam."""
        start = self._limits.start
        return [
            Reading(each.tokens[-1] if each.tokens else start, self._length, slot, each.ancestors)
            for slot, each in enumerate(self._live)
        ]

    def advance(self, scores: Scores) -> None:
        """Extends every hypothesis in the beam by every token, and keeps the best."""
        close_early_end(scores, self._limits, self._length)
        if self._length < len(self._forced):
            self._force(scores)
        else:
            forbid(scores, self._limits)
            self._branch(scores)
        self._length += 1

    def found(self) -> list[Hypothesis]:
        """The best hypotheses of the sentence."""
        (best,) = self._pool.best()
        if not best:
            raise no_probability(f"no hypothesis for sentence {self._row}")
        return best

    def _force(self, scores: Scores) -> None:
        """The forced token follows, even if it is forbidden; it keeps its own log-probability."""
        token = self._forced[self._length]
        (total,) = self._totals(scores[:, [token]]).tolist()  # nothing has branched yet
        self._extend(scores, [(0, token, total)] if total > -inf else [])

    def _branch(self, scores: Scores) -> None:
        written = [each.tokens for each in self._live]
        forbid_repeats(scores, written, self._limits.no_repeat_ngram)
        if self._length == self._longest:
            self._close(scores)
            return
        beam, end = self.slots, self._limits.end
        totals = self._totals(scores)
        places = largest(totals, min(2 * beam, len(totals)))
        candidates = [
            (*divmod(place, scores.shape[1]), total)
            for place, total in zip(places.tolist(), totals[places].tolist(), strict=True)
            if total > -inf
        ]
        self._finish(scores, [parent for parent, token, _ in candidates[:beam] if token == end])
        live = [each for each in candidates if each[1] != end][:beam]
        settled = self._settled(live[0][2] if live else -inf)
        self._extend(scores, [] if settled else live)

    def _totals(self, scores: Scores) -> Scores:
        """The log-probability of every hypothesis with every token more, one after the other."""
        before = np.array([each.total for each in self._live], np.float32)
        totals: Scores = (before[:, None] + scores).ravel()
        return totals

    def _extend(self, scores: Scores, chosen: Sequence[tuple[int, int, float]]) -> None:
        """The beam with these, (parent, token, total) each, best first."""
        self._live = [
            Live(
                float(np.float32(total)),
                (*self._live[parent].tokens, token),
                (*self._live[parent].values, float(scores[parent, token])),
                np.append(self._live[parent].ancestors, np.int32(parent)),
            )
            for parent, token, total in chosen
        ]

    def _settled(self, best: float) -> bool:
        """Whether no live hypothesis can change the result: see `decoding/beam.py`, `_bound`."""
        penalty = max(self._penalties[self._longest + 1], self._penalties[self._length + 2])
        bound = np.array([best], np.float32) / penalty
        return bool(self._pool.settled(np.zeros(1, np.int64), bound)[0])

    def _finish(self, scores: Scores, parents: Sequence[int]) -> None:
        """Moves these to the pool, with END."""
        ends = scores[:, self._limits.end]
        self._add([(self._live[parent], float(ends[parent])) for parent in parents])

    def _close(self, scores: Scores) -> None:
        """Moves all to the pool, at the maximum length: cut, but where END is the most probable."""
        end = self._limits.end
        ended = scores.argmax(axis=1) == end
        self._add(
            [
                (each, float(scores[slot, end]) if ended[slot] else None)
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
        self._pool.add([0] * len(rated), rated)
