"""Beam search for hypotheses that contain given phrases.

Dynamic beam allocation. Source: Post and Vilar 2018, "Fast Lexically Constrained Decoding with
Dynamic Beam Allocation for Neural Machine Translation"; overlapping phrases after Hu et al. 2019,
"Improved Lexically Constrained Decoding for Translation and Monolingual Rewriting".
"""

from collections.abc import Mapping, Sequence
from math import inf
from typing import NamedTuple

from jumok.decoding.beam import BeamRules, Extended, SentenceBeam
from jumok.decoding.constraints import ConstraintAutomaton, Constraints, Ways
from jumok.decoding.stepper import NextTokens

WIDEST_BEAM = 24
"""A row's beam is one wider than the number of its constraints' tokens, up to this size."""


class BankedExtension(NamedTuple):
    """One hypothesis of a sentence with one token more; it still lacks `missing` tokens."""

    total: float
    parent: int
    token: int
    missing: int
    ways: Ways


def width_of(beam: int, progress: ConstraintAutomaton) -> int:
    """A place for every bank, up to WIDEST_BEAM."""
    return max(beam, min(progress.missing(progress.start) + 1, WIDEST_BEAM))


def within(
    options: Mapping[tuple[int, int], float],
    ways: Sequence[Ways],
    progress: ConstraintAutomaton,
    left: int,
    end: int,
) -> list[BankedExtension]:
    """Those that can write their missing tokens in `left` steps; END only if none are left.

    Args:
        options: the total of each (parent, token).
        ways: the state of each parent.
    """
    candidates = []
    for (parent, token), total in options.items():
        ended = token == end
        state = ways[parent] if ended else progress.after(ways[parent], token)
        missing = progress.missing(state)
        if missing <= (0 if ended else left):
            candidates.append(BankedExtension(total, parent, token, missing, state))
    return sorted(candidates, key=lambda each: (-each.total, each.parent, each.token))


def allocate(candidates: list[BankedExtension], beam: int) -> list[BankedExtension]:
    """At most `beam` of the candidates (best first), divided among the banks.

    A bank holds those that lack the same number of tokens. Every bank gets an equal share, the
    banks that lack the fewest get the remainder, and a bank with fewer candidates leaves its places
    to the others, first to those that lack the fewest.
    """
    banks: dict[int, list[BankedExtension]] = {}
    for each in candidates:
        banks.setdefault(each.missing, []).append(each)
    if not banks:
        return []
    order = sorted(banks)
    share, over = divmod(beam, len(order))
    sizes = {
        missing: min(share + (place < over), len(banks[missing]))
        for place, missing in enumerate(order)
    }
    unused = beam - sum(sizes.values())
    for missing in order:
        more = min(unused, len(banks[missing]) - sizes[missing])
        sizes[missing] += more
        unused -= more
    chosen = [each for missing in order for each in banks[missing][: sizes[missing]]]
    return sorted(chosen, key=lambda each: -each.total)


class ConstrainedBeam(SentenceBeam):
    """A beam whose places are divided among banks: hypotheses that lack the same number of
    constraint tokens compete only with each other.

    Candidates are the best 2 * `beam` extensions, and for every hypothesis the tokens that
    constraints need next. A hypothesis ends only when it contains all constraints, and one that
    could not write the rest before its maximum length is dropped. The beam is widened to one place
    a bank, up to WIDEST_BEAM, since a beam with fewer places writes constraints early.
    `no_repeat_ngram` applies to free tokens only.
    """

    def __init__(
        self,
        rules: BeamRules,
        row: int,
        longest: int,
        forced: Sequence[int],
        phrases: Constraints,
        beginning: int = 0,
    ) -> None:
        super().__init__(rules, row, longest, forced, beginning)
        self._progress = ConstraintAutomaton(phrases)
        self.slots = width_of(rules.beam, self._progress)
        self._ways: list[Ways] = [self._progress.start]
        for token in forced[:beginning]:
            self._follow(token)

    def _follow(self, token: int) -> None:
        self._ways = [self._progress.after(ways, token) for ways in self._ways]

    def _asked(self, slot: int) -> tuple[int, ...]:
        return (*super()._asked(slot), *sorted(self._progress.advancing(self._ways[slot])))

    def _repeating(self) -> list[list[int]]:
        # at the maximum length all hypotheses are complete
        return [] if self._length == self._longest else super()._repeating()

    def _force(self, step: NextTokens) -> None:
        self._follow(self._forced[self._length])
        super()._force(step)

    def _branch(self, step: NextTokens) -> None:
        end = self._limits.end
        options = self._options(step)
        totals = {place: each.total for place, each in options.items()}
        left = self._longest - self._length - 1
        candidates = within(totals, self._ways, self._progress, left, end)
        whole = [each for each in candidates if each.missing == 0][: self.slots]
        self._finish(step, [each.parent for each in whole if each.token == end])
        live = allocate([each for each in candidates if each.token != end], self.slots)
        if self._settled(max((each.total for each in live), default=-inf)):
            live = []
        self._ways = [each.ways for each in live]
        self._extend([options[each.parent, each.token] for each in live])

    def _options(self, step: NextTokens) -> dict[tuple[int, int], Extended]:
        """The best extensions, and those that constraints need next, which may repeat n-grams."""
        options = {(each.parent, each.token): each for each in self._extensions(step)}
        for parent, each in enumerate(self._live):
            tokens = self._asked(parent)
            for token, value in zip(tokens[1:], step.asked[parent, 1:].tolist(), strict=False):
                if (parent, token) not in options and value > -inf:
                    options[parent, token] = Extended(parent, token, value, each.total + value)
        return options
