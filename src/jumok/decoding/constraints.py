"""Phrases that a hypothesis must contain, and the tokens of them that are still missing.

A phrase is one token sequence or several equivalent ones ("▁Seoul", "Seoul"); each of a sentence's
phrases needs tokens of its own, so that no token counts for two. Where one token could count for
either of two phrases, all ways to count are followed in parallel.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from jumok.errors import ModelError

Phrase = tuple[tuple[int, ...], ...]
"""Token sequences any one of which must be written."""

Constraints = Sequence[Phrase]
"""The phrases that one hypothesis must contain; a phrase that is listed twice is needed twice."""

Begun = tuple[int, int, int]  # a phrase, which of its sequences, how much of it is written
Way = tuple[tuple[int, ...], Begun | None]
"""One way to count: how often each phrase is complete, and the phrase that is being written."""

Ways = frozenset[Way]


@dataclass
class ConstraintAutomaton:
    """The phrases of one sentence as an automaton over its tokens.

    A state is a set of ways to count the tokens written; `start` is that of no token.
    """

    constraints: Constraints
    phrases: list[Phrase] = field(init=False)
    needed: list[int] = field(init=False)
    _after: dict[tuple[Ways, int], Ways] = field(init=False, default_factory=dict)
    _missing: dict[Ways, int] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        counts: dict[Phrase, int] = {}
        for phrase in self.constraints:
            counts[phrase] = counts.get(phrase, 0) + 1
        self.phrases, self.needed = list(counts), list(counts.values())

    @property
    def start(self) -> Ways:
        return frozenset({(tuple(0 for _ in self.phrases), None)})

    def after(self, ways: Ways, token: int) -> Ways:
        """The state after one more token."""
        key = (ways, token)
        if key not in self._after:
            self._after[key] = self._pruned(
                {later for way in ways for later in self._later(way, token)}
            )
        return self._after[key]

    def missing(self, ways: Ways) -> int:
        """The fewest tokens that are still missing; 0: every phrase is complete."""
        if ways not in self._missing:
            self._missing[ways] = min(map(self._left, ways))
        return self._missing[ways]

    def advancing(self, ways: Ways) -> set[int]:
        """The tokens that begin a missing phrase, or continue one."""
        tokens = set()
        for written, begun in ways:
            if begun is not None:
                phrase, choice, count = begun
                tokens.add(self.phrases[phrase][choice][count])
            for phrase, count in enumerate(written):
                if count < self.needed[phrase]:
                    tokens |= {sequence[0] for sequence in self.phrases[phrase]}
        return tokens

    def _later(self, way: Way, token: int) -> Iterable[Way]:
        written, begun = way
        yield written, None  # a phrase in progress is given up, if there was one
        if begun is not None:
            phrase, choice, count = begun
            if self.phrases[phrase][choice][count] == token:
                yield self._count(written, phrase, choice, count + 1)
        for phrase, count in enumerate(written):
            if count < self.needed[phrase]:
                for choice, sequence in enumerate(self.phrases[phrase]):
                    if sequence[0] == token:
                        yield self._count(written, phrase, choice, 1)

    def _count(self, written: tuple[int, ...], phrase: int, choice: int, count: int) -> Way:
        if count < len(self.phrases[phrase][choice]):
            return written, (phrase, choice, count)
        return (*written[:phrase], written[phrase] + 1, *written[phrase + 1 :]), None

    def _pruned(self, ways: set[Way]) -> Ways:
        """Drops the ways that are never ahead of another one."""

        def behind(way: Way, other: Way) -> bool:
            begun_alike = way[1] is None or way[1] == other[1]
            counts = zip(way[0], other[0], strict=True)
            return way != other and begun_alike and all(mine <= its for mine, its in counts)

        return frozenset(way for way in ways if not any(behind(way, other) for other in ways))

    def _left(self, way: Way) -> int:
        written, begun = way
        left = sum(
            (needed - count) * min(map(len, phrase))
            for phrase, needed, count in zip(self.phrases, self.needed, written, strict=True)
        )
        if begun is not None:
            phrase, choice, count = begun
            sequences = self.phrases[phrase]
            rest = len(sequences[choice]) - count
            left = min(left, left - min(map(len, sequences)) + rest)
        return left


def check_constraints(
    constraints: Sequence[Constraints],
    rows: int,
    longest: Sequence[int],
    vocabulary_size: int,
    forbidden: Iterable[int],
) -> None:
    """Raises ModelError for constraints that cannot be met, with the sentence and the reason.

    Args:
        forbidden: tokens that never occur in a hypothesis, END among them.
    """
    if len(constraints) != rows:
        raise ModelError(
            "every sentence needs a list of constraints, which may be empty.",
            expected=f"{rows} lists of constraints",
            got=str(len(constraints)),
        )
    never = set(forbidden)
    for row, (phrases, most) in enumerate(zip(constraints, longest, strict=True)):
        for phrase in phrases:
            if not phrase or not all(phrase):
                raise ModelError(f"a constraint of sentence {row} has no token.")
            for token in (token for sequence in phrase for token in sequence):
                if not 0 <= token < vocabulary_size or token in never:
                    raise ModelError(
                        f"a constraint of sentence {row} holds a token that cannot be written.",
                        expected=f"ids from 0 to {vocabulary_size - 1} that are not forbidden",
                        got=str(token),
                    )
        needed = sum(min(map(len, phrase)) for phrase in phrases)
        if needed > most:
            raise ModelError(
                f"the constraints of sentence {row} are longer than its target may get.",
                expected=f"at most {most} tokens",
                got=f"{needed} tokens",
                do="raise maximum_length (or maximum_ratio), or give fewer constraints",
            )
