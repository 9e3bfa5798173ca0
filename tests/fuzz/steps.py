"""The steps of a backtracking matcher, counted: a measure of a pattern's work without a clock.

A pattern of Python's `re` is compiled to a program of few instructions, which takes the same ways
in the same order as `re` does. The texts that it is tried on come from its own structure: one
character of each class that it tells apart, pairs of them, and what brings it to each of its
repeats.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

Member = Callable[[str], bool]

LETTERS = [*map(chr, range(128)), *"é가中。“”’\u00a0\u0301·،"]
MISS = "\x01"
REPEATS = (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT)


class TooManySteps(Exception):  # noqa: N818 - the result of a trial
    """The matcher was stopped."""


def member(op: object, value: Any, flags: int) -> Member:
    """Whether a character is in the set of a node that matches one character."""
    if op is codes.ANY:
        return lambda letter: bool(flags & re.DOTALL) or letter != "\n"
    if op is codes.LITERAL:
        return _folded(lambda letter: ord(letter) == value, flags)
    if op is codes.NOT_LITERAL:
        same = _folded(lambda letter: ord(letter) == value, flags)
        return lambda letter: not same(letter)
    if op is codes.RANGE:
        return _folded(lambda letter: value[0] <= ord(letter) <= value[1], flags)
    if op is codes.CATEGORY:
        name = str(value).removeprefix("CATEGORY_")
        kind = {"DIGIT": r"\d", "SPACE": r"\s", "WORD": r"\w"}[name.removeprefix("NOT_")]
        pattern = re.compile(kind, flags & re.ASCII)
        return lambda letter: (pattern.match(letter) is None) == name.startswith("NOT_")
    assert op is codes.IN, f"{op} is not known here"
    negated = value[0][0] is codes.NEGATE
    parts = [member(*part, flags) for part in value[negated:]]
    return lambda letter: any(part(letter) for part in parts) != negated


def _folded(test: Member, flags: int) -> Member:
    if not flags & re.IGNORECASE:
        return test
    return lambda letter: any(test(each) for each in {letter, letter.lower(), letter.upper()[:1]})


@dataclass
class Program:
    """Instructions: (name, operand, operand).

    Attributes:
        sets: those of the nodes that match one character.
    """

    flags: int
    code: list[tuple[str, Any, Any]] = field(default_factory=list)
    sets: list[Member] = field(default_factory=list)

    def add(self, name: str, first: Any = None, second: Any = None) -> int:
        self.code.append((name, first, second))
        return len(self.code) - 1

    def sequence(self, nodes: Sequence[tuple[Any, Any]]) -> None:
        for op, value in nodes:
            self.node(op, value)

    def node(self, op: object, value: Any) -> None:
        if op in REPEATS:
            self.repeat(op, *value)
        elif op is codes.SUBPATTERN:
            self.sequence(value[3])
        elif op is codes.ATOMIC_GROUP:
            self.add("whole", self.part(value))
        elif op in (codes.ASSERT, codes.ASSERT_NOT):
            back = value[1].getwidth()[0] if value[0] < 0 else 0
            self.add("look", self.part(value[1]), (back, op is codes.ASSERT))
        elif op is codes.AT:
            self.add("at", str(value))
        elif op is codes.BRANCH:
            ends = []
            for nodes in value[1][:-1]:
                split = self.add("split")
                self.sequence(nodes)
                ends.append(self.add("jump"))
                self.code[split] = ("split", split + 1, len(self.code))
            self.sequence(value[1][-1])
            for end in ends:
                self.code[end] = ("jump", len(self.code), None)
        else:
            self.sets.append(member(op, value, self.flags))
            self.add("one", self.sets[-1])

    def part(self, nodes: Sequence[tuple[Any, Any]]) -> "Program":
        program = Program(self.flags, sets=self.sets)
        program.sequence(nodes)
        return program

    def repeat(self, op: object, least: int, most: int, nodes: Any) -> None:
        if op is codes.POSSESSIVE_REPEAT:
            inner = Program(self.flags, sets=self.sets)
            inner.repeat(codes.MAX_REPEAT, least, most, nodes)
            self.add("whole", inner)
            return
        for _ in range(least):
            self.sequence(nodes)
        splits = []
        for _ in range(0 if most is codes.MAXREPEAT else most - least):
            splits.append(self.add("split"))
            self.sequence(nodes)
        if most is codes.MAXREPEAT:
            splits.append(self.add("split"))
            self.add("mark", splits[-1])
            self.sequence(nodes)
            self.add("moved", splits[-1])
            self.add("jump", splits[-1])
        for split in splits:
            ways = (split + 1, len(self.code))
            self.code[split] = ("split", *(ways if op is codes.MAX_REPEAT else ways[::-1]))


class Matcher:
    """Matches as `re` does, and counts.

    Raises:
        TooManySteps: more than `most`.
    """

    def __init__(self, pattern: str | bytes, flags: int, most: int = 1_000_000) -> None:
        text = pattern.decode("latin-1") if isinstance(pattern, bytes) else pattern
        flags |= re.ASCII if isinstance(pattern, bytes) else 0
        self.tree = parser.parse(text, flags & ~re.UNICODE if flags & re.ASCII else flags)
        self.flags = self.tree.state.flags
        self.program = Program(self.flags)
        self.program.sequence(self.tree)
        self.steps, self.most = 0, most

    def find_all(self, text: str, once: bool) -> int:
        """The steps of `finditer`, or of `match` at the start."""
        self.steps = at = 0
        while at <= len(text):
            end = self.run(self.program, text, at)
            if once:
                break
            at = end if end is not None and end > at else at + 1
        return self.steps

    def run(self, program: Program, text: str, at: int) -> int | None:
        """The end of the match at a place."""
        ways: list[tuple[int, int, dict[int, int]]] = [(0, at, {})]
        code = program.code
        while ways:
            here, at, marks = ways.pop()
            while here < len(code):
                self.steps += 1
                if self.steps > self.most:
                    raise TooManySteps
                name, first, second = code[here]
                here += 1
                if name == "one":
                    if at >= len(text) or not first(text[at]):
                        break
                    at += 1
                elif name == "split":
                    ways.append((second, at, marks))
                    here = first
                elif name == "jump":
                    here = first
                elif name == "mark":
                    marks = marks | {first: at}
                elif name == "moved":
                    if marks[first] == at:
                        break
                elif name == "at":
                    if not self._stands(first, text, at):
                        break
                elif name == "whole":
                    end = self.run(first, text, at)
                    if end is None:
                        break
                    at = end
                elif name == "look":
                    back, wanted = second
                    seen = at >= back and self.run(first, text, at - back) is not None
                    if seen != wanted:
                        break
            else:
                return at
        return None

    def _stands(self, name: str, text: str, at: int) -> bool:
        if name == "AT_BEGINNING":
            multiline = self.flags & re.MULTILINE
            return at == 0 or bool(multiline and text[at - 1] == "\n")
        if name == "AT_BEGINNING_STRING":
            return at == 0
        if name == "AT_END_STRING":
            return at == len(text)
        if name == "AT_END":
            rest = text[at : at + 1]
            return at >= len(text) - (rest == "\n") or bool(
                self.flags & re.MULTILINE and rest == "\n"
            )
        word = [
            bool(re.match(r"\w", each, self.flags & re.ASCII))
            for each in text[max(at - 1, 0) : at + 1]
        ]
        beside = word[0] != word[1] if 0 < at < len(text) else any(word)
        return beside == (name == "AT_BOUNDARY")

    def alphabet(self) -> list[str]:
        """One character of each class that the pattern tells apart."""
        sets, seen = self.program.sets, {}
        own = [chr(value) for value in _literals(self.tree)]
        for letter in [*own, *"a0", *LETTERS]:
            seen.setdefault(tuple(test(letter) for test in sets), letter)
        return list(seen.values())

    def prefixes(self) -> list[str]:
        """Texts that bring the matcher to each of its repeats, and to its end."""
        return list(dict.fromkeys(["", *self._before(self.tree, "")]))

    def _before(self, nodes: Any, before: str) -> Iterator[str]:
        for op, value in nodes:
            if op in REPEATS and value[1] is codes.MAXREPEAT:
                yield before
            for inner in _inner(op, value):
                yield from self._before(inner, before)
            before += self._sample(op, value)
        if nodes is self.tree:
            yield before

    def _sample(self, op: object, value: Any) -> str:
        if op in REPEATS:
            return "".join(self._sample(*node) for node in value[2]) * max(value[0], 1)
        if op in (codes.AT, codes.ASSERT, codes.ASSERT_NOT):
            return ""
        inner = _inner(op, value)
        if inner:
            return "".join(self._sample(*node) for node in inner[0])
        test = member(op, value, self.flags)
        own = [chr(value)] if op is codes.LITERAL else []
        return next((letter for letter in [*own, *"a0", *LETTERS] if test(letter)), "")


def _inner(op: object, value: Any) -> list[Any]:
    if op in REPEATS:
        return [value[2]]
    if op is codes.SUBPATTERN:
        return [value[3]]
    if op is codes.ATOMIC_GROUP:
        return [value]
    if op in (codes.ASSERT, codes.ASSERT_NOT):
        return [value[1]]
    return list(value[1]) if op is codes.BRANCH else []


def _literals(nodes: Any) -> Iterator[int]:
    for op, value in nodes:
        if op in (codes.LITERAL, codes.NOT_LITERAL):
            yield value
        elif op is codes.IN:
            yield from (
                value[1] if op is codes.RANGE else value
                for op, value in value
                if op is codes.LITERAL
            )
        for inner in _inner(op, value):
            yield from _literals(inner)


def repeats(nodes: Any) -> bool:
    """Whether a part of the pattern may repeat without a bound."""
    return any(
        (op in REPEATS and value[1] is codes.MAXREPEAT) or any(map(repeats, _inner(op, value)))
        for op, value in nodes
    )


def attacks(matcher: Matcher) -> Iterator[tuple[str, str, str]]:
    """What stands once, what is repeated, and what stands at the end."""
    letters, heads = matcher.alphabet(), matcher.prefixes()
    longer = [head for head in heads if len(head) > 1]
    yield from product(heads, [*letters, *longer], (MISS,))
    yield from product(("",), letters, ("",))
    yield from product(("",), map("".join, product(letters[:12], repeat=2)), (MISS,))


def worst(pattern: re.Pattern[Any], once: bool = False) -> tuple[float, str]:
    """The largest growth of the work when a text is doubled, and that text."""
    matcher = Matcher(pattern.pattern, pattern.flags)
    found = (1.0, "")
    if not repeats(matcher.tree):
        return found
    for head, pump, tail in attacks(matcher):
        if _growth(matcher, head, pump, tail, 16, once) > 2.4:
            growth = _growth(matcher, head, pump, tail, 200, once)
            found = max(found, (growth, f"{head!r} + {pump!r} * n + {tail!r}"))
            if growth > 2.6:
                break
    return found


def _growth(matcher: Matcher, head: str, pump: str, tail: str, size: int, once: bool) -> float:
    times = max(size // len(pump), 4)
    try:
        short, long = (matcher.find_all(head + pump * n + tail, once) for n in (times, 2 * times))
    except TooManySteps:
        return float("inf")
    return long / short
