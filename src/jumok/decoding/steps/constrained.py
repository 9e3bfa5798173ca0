"""Constrained search for one sentence: the twin of `decoding/constrained.py` without torch."""

from collections.abc import Sequence
from math import inf

from jumok.decoding.constraints import ConstraintAutomaton, Constraints, Ways
from jumok.decoding.steps.banks import allocate, width_of, within
from jumok.decoding.steps.beam import BeamRules, SentenceBeam
from jumok.decoding.steps.limiting import forbid_repeats
from jumok.decoding.steps.sentence import Scores
from jumok.engine.choosing import largest


class ConstrainedBeam(SentenceBeam):
    """A beam that is divided by the number of missing constraint tokens.

    Args:
        phrases: what every hypothesis has to contain.
    """

    def __init__(
        self,
        rules: BeamRules,
        row: int,
        longest: int,
        forced: Sequence[int],
        phrases: Constraints,
    ) -> None:
        super().__init__(rules, row, longest, forced)
        self._progress = ConstraintAutomaton(phrases)
        self.slots = width_of(rules.beam, self._progress)
        self._ways: list[Ways] = [self._progress.start]

    def _force(self, scores: Scores) -> None:
        token = self._forced[self._length]
        self._ways = [self._progress.after(ways, token) for ways in self._ways]
        super()._force(scores)

    def _branch(self, scores: Scores) -> None:
        if self._length == self._longest:
            self._close(scores)  # they are complete by then
            return
        candidates = within(
            self._options(scores), self._ways, self._progress, self._longest - self._length - 1,
            self._limits.end,
        )  # fmt: skip
        whole = [each for each in candidates if each.missing == 0][: self.slots]
        self._finish(scores, [each.parent for each in whole if each.token == self._limits.end])
        live = allocate([each for each in candidates if each.token != self._limits.end], self.slots)
        if self._settled(max((each.total for each in live), default=-inf)):
            live = []
        self._ways = [each.ways for each in live]
        self._extend(scores, [(each.parent, each.token, each.total) for each in live])

    def _options(self, scores: Scores) -> dict[tuple[int, int], float]:
        """The totals of the best extensions, and of those that constraints need next.

        Only the former may not repeat n-grams.
        """
        free = scores
        if self._limits.no_repeat_ngram:
            free = scores.copy()
            written = [each.tokens for each in self._live]
            forbid_repeats(free, written, self._limits.no_repeat_ngram)
        totals = self._totals(free)
        places = largest(totals, min(2 * self.slots, len(totals)))
        vocabulary = scores.shape[1]
        options = {
            divmod(place, vocabulary): total
            for place, total in zip(places.tolist(), totals[places].tolist(), strict=True)
            if total > -inf
        }
        for parent, (each, ways) in enumerate(zip(self._live, self._ways, strict=True)):
            for token in sorted(self._progress.advancing(ways)):
                value = float(scores[parent, token])
                if (parent, token) not in options and value > -inf:
                    options[parent, token] = each.total + value
        return options
