"""Strings that a translation must keep: placeholders, addresses, numbers.

Two kinds of strings are kept. Those that are code (a placeholder, a URL, an e-mail address, an
entity, a path, an amount with its sign, whatever the user's own patterns match) appear in the
translation unchanged and as often as in the source. Numbers may be written as the other language
writes them: 1,000.5 as 1.000,5, 10:30 as 10시 30분, 20,000 as 2만; their digits must be there. A
single digit may be a word: 3 as "three".
"""

import heapq
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Literal

from jumok.data.tokenizer import normalize
from jumok.errors import ConfigError
from jumok.systems.translation.kept.code import PLAIN_SENTENCE, USUAL
from jumok.systems.translation.kept.numerals import numeral_spans
from jumok.systems.translation.sentences import Span

# A number that follows a letter is a part of a name: "w3", "utf8".
# A date, a telephone number, a version, an address of a network is one thing.
NUMBER_PATTERN = re.compile(
    r"(?:(?<![\w+])\+(?=\d)|(?<![A-Za-z_\d]))\d++(?:[.,:'’/\u00a0\u202f-]\d++)*+"
)
LONGEST_NUMBER = 40  # characters of a number that languages write differently; a longer one is code
DIGITS = frozenset("0123456789")
GONE = "\0"  # never in normalised text
LONGEST_INDEXED = 64  # characters of a string that is looked up at each place of a text
BEGINS, ENDS = re.compile(r"(?<!\d)(?<!\d[.,])"), re.compile(r"(?![.,]?\d)")
DIGIT_RUN = re.compile(r"\d+")
_JOINTS = {"", "/", ":", "-", "."}
_AROUND = dict(zip("([{<\"'“‘«「『（", ")]}>\"'”’»」』）", strict=True))
CODE_LETTER = re.compile("[A-Za-z0-9_]")
LETTER_BEFORE = re.compile("[A-Za-z0-9_가-힣]")
GROUPING = ".,'’\u00a0\u202f "
TIMES = {"thousand": 1e3, "mille": 1e3, "tausend": 1e3, "천": 1e3, "千": 1e3, "만": 1e4}
TIMES |= {"万": 1e4, "萬": 1e4, "억": 1e8, "亿": 1e8, "億": 1e8, "조": 1e12, "兆": 1e12}
TIMES |= dict.fromkeys(("million", "millions", "millionen", "mio", "백만", "百万"), 1e6)
TIMES |= dict.fromkeys(("billion", "milliard", "milliards", "milliarden", "십억"), 1e9)
TIMES |= {"천만": 1e7}
UNIT = re.compile(
    r"\s?(" + "|".join(sorted(map(re.escape, TIMES), key=len, reverse=True)) + ")", re.IGNORECASE
)


@dataclass(frozen=True)
class Kept:
    """A string of a source that its translation must keep.

    Attributes:
        start, end: its span in the source, in characters.
        kind: "code" is kept unchanged; a "number" may be written in another way.
    """

    text: str
    start: int
    end: int
    kind: Literal["code", "number"]


class Keep:
    """The patterns of strings that are kept.

    Args:
        patterns: regular expressions of the user's own.
        usual: whether the built-in patterns, and numbers, are kept as well.

    Raises:
        ConfigError: a pattern is not a regular expression, or can never match.
    """

    def __init__(self, patterns: Sequence[str] = (), usual: bool = True) -> None:
        for pattern in patterns:
            _check_pattern(pattern)
        self.own = [re.compile(pattern) for pattern in patterns]
        self.code = [*self.own, *(re.compile(pattern) for pattern in USUAL if usual)]
        self.usual = usual

    def find(self, text: str) -> list[Kept]:
        """The strings of a text that must be kept, from its start; they do not overlap."""
        text = normalize(text)
        kept: list[Kept] = []
        taken = bytearray(len(text))
        plain = self.usual and PLAIN_SENTENCE.fullmatch(text) is not None
        for pattern in self.own if plain else self.code:
            kept += _matches(pattern, text, taken, "code")
        if self.usual and not plain:
            kept += [
                replace(one, kind="code") if len(one.text) > LONGEST_NUMBER else one
                for one in _matches(NUMBER_PATTERN, text, taken, "number")
            ]
        if self.usual:
            kept = list(_with_joints(sorted(kept, key=lambda one: one.start), text))
        return sorted(kept, key=lambda one: one.start)


def _with_joints(kept: Sequence[Kept], text: str) -> Iterator[Kept]:
    """What is kept, with brackets or quotes around it; code beside code, as in {a}/{b}, is one."""
    groups: list[list[Kept]] = []
    for one in kept:
        before = groups[-1][-1] if groups else None
        if (
            before is not None
            and before.kind == one.kind == "code"
            and text[before.end : one.start] in _JOINTS
        ):
            groups[-1].append(one)
        else:
            groups.append([one])
    ends = [0, *(group[-1].end for group in groups)]
    starts = [*(group[0].start for group in groups), len(text)]
    for group, last, following in zip(groups, ends, starts[1:], strict=False):
        start, end, kind = group[0].start, group[-1].end, group[0].kind
        if start > last and end < following and text[end] == _AROUND.get(text[start - 1]):
            start, end, kind = start - 1, end + 1, "code"
        yield Kept(text[start:end], start, end, kind)


def found_in(kept: Sequence[Kept], text: str) -> list[tuple[Kept, Span | None]]:
    """The span of each of a source's kept strings in this translation; None for a missing one.

    Code comes first, then longer strings; no letter is counted twice.
    """
    standing = _Standing(kept, text)
    in_order = sorted(kept, key=lambda one: (one.kind, -len(one.text)))
    places = [(one, standing.take(one)) for one in in_order]
    return sorted(places, key=lambda place: place[0].start)


def missing_in(kept: Sequence[Kept], text: str) -> list[Kept]:
    """Those of a source's kept strings that are not in this translation."""
    return [one for one, place in found_in(kept, text) if place is None]


def surplus_in(kept: Sequence[Kept], text: str) -> list[Span]:
    """The spans of code that a translation has more often than its source: the last ones."""
    in_source = Counter(one.text for one in kept if one.kind == "code")
    standing = _occurrences({one.text for one in kept}, text) if in_source else {}
    taken = bytearray(len(text))
    spans: list[Span] = []
    # What is inside a longer kept string is counted there.
    for code in sorted(standing, key=len, reverse=True):
        free = [span for span in standing[code] if _take(taken, span)]
        if code in in_source:
            spans += free[in_source[code] :]
    return sorted(spans)


def remains_in(missing: Sequence[Kept], kept: Sequence[Kept], text: str) -> list[Span]:
    """The spans of digits that a search has written of numbers that are still missing.

    They are runs of two digits or more that belong to no other kept string.
    """
    digits = ["".join(DIGIT_RUN.findall(one.text)) for one in missing]
    if not any(digits):
        return []
    whole = sorted(span for _, span in found_in(kept, text) if span)
    free = (run.span() for run in DIGIT_RUN.finditer(text) if len(run[0]) > 1)
    return [
        (start, end)
        for start, end in free
        if any(text[start:end] in each for each in digits)
        and not any(first < end and start < last for first, last in whole)
    ]


def separated(kept: Sequence[Kept], source: str, text: str) -> str:
    """A translation with a space between a placeholder and Latin letters or digits that touch it,
    if none touched it in the source: a program would read "%donne" as "%d" and the rest.

    Letters of other scripts may follow it, and no Hangul precedes it: 이름은 {name}입니다.
    """
    codes = {one.text for one in kept if one.kind == "code"}
    touched_before = {
        one.text for one in kept if LETTER_BEFORE.match(source[one.start - 1 : one.start])
    }
    touched_behind = {one.text for one in kept if CODE_LETTER.match(source, one.end)}
    taken = bytearray(len(text))
    spaces: set[int] = set()
    places = _occurrences(codes, text) if codes else {}
    for code in sorted(places, key=len, reverse=True):
        for start, end in places[code]:
            if not _take(taken, (start, end)):
                continue
            if code not in touched_before and start and LETTER_BEFORE.match(text, start - 1):
                spaces.add(start)
            if code not in touched_behind and CODE_LETTER.match(text, end):
                spaces.add(end)
    parts, at = [], 0
    for place in sorted(spaces):
        parts.append(text[at:place])
        at = place
    return " ".join([*parts, text[at:]])


def _matches(
    pattern: re.Pattern[str], text: str, taken: bytearray, kind: Literal["code", "number"]
) -> list[Kept]:
    matches = []
    for match in pattern.finditer(text):
        start, end = match.span()
        if end > start and _take(taken, (start, end)):
            matches.append(Kept(match[0], start, end, kind))
    return matches


def _take(taken: bytearray, span: Span) -> bool:
    """Whether a span was free; it is taken then."""
    start, end = span
    if any(taken[start:end]):
        return False
    taken[start:end] = b"\1" * (end - start)
    return True


def _occurrences(codes: Collection[str], text: str) -> dict[str, list[Span]]:
    """The spans of each of these strings in a text, those of short ones overlapping too."""
    sizes: dict[str, set[int]] = {}
    places: dict[str, list[Span]] = {code: [] for code in codes}
    for code in codes:
        if len(code) <= LONGEST_INDEXED:
            sizes.setdefault(code[0], set()).add(len(code))
            continue
        end = 0
        while (start := text.find(code, end)) >= 0:
            end = start + len(code)
            places[code].append((start, end))
    for start, letter in enumerate(text):
        for size in sizes.get(letter, ()):
            spans = places.get(text[start : start + size])
            if spans is not None:
                spans.append((start, start + size))
    return places


class _Standing:
    """The places of kept strings in a translation, in one reading for all of them."""

    def __init__(self, kept: Sequence[Kept], text: str) -> None:
        self.text, self.taken = text, bytearray(len(text))
        self._codes = _occurrences({one.text for one in kept if one.kind == "code"}, text)
        self._numbers = {one.text for one in kept if one.kind == "number"}
        self._spans: dict[tuple[str, str], Iterator[Span]] = {}

    def take(self, one: Kept) -> Span | None:
        """The first free span of a kept string, which is taken then."""
        spans = self._spans.get((one.kind, one.text))
        if spans is None:
            spans = self._whole(one.text) if one.kind == "code" else self._number(one.text)
            self._spans[one.kind, one.text] = spans
        return next((span for span in spans if _take(self.taken, span)), None)

    def _whole(self, code: str) -> Iterator[Span]:
        # "%s" is not "%sx", nor "$USER" "$USERS"; punctuation and letters of other scripts may
        # follow a placeholder.
        glued = []
        for start, end in self._codes[code]:
            if code[-1].isalnum() and CODE_LETTER.match(self.text, end) and not self.taken[end]:
                glued.append((start, end))
            else:
                yield start, end
        yield from (span for span in reversed(glued) if self.taken[span[1]])

    def _number(self, number: str) -> Iterator[Span]:
        """The same number, also in another notation, or with a word for its zeros."""
        for start in self._starts[_nonzero_digits(number)]:
            end = start + len(number)
            unchanged = self._rest.startswith(number, start)  # most are: no pattern is compiled
            if unchanged and BEGINS.match(self._rest, start) and ENDS.match(self._rest, end):
                yield start, end
            elif match := _same_number(number).match(self._rest, start):
                yield match.span()
        yield from heapq.merge(*(self._with_unit.get(value, ()) for value in _values(number)))
        if number in DIGITS:
            yield from numeral_spans(number, self._rest)

    @cached_property
    def _rest(self) -> str:
        """The text without its code, which is taken before numbers are."""
        return "".join(
            GONE if taken else letter for letter, taken in zip(self.text, self.taken, strict=True)
        )

    @cached_property
    def _starts(self) -> dict[str, list[int]]:
        return _number_starts(self._numbers, self._rest)

    @cached_property
    def _with_unit(self) -> dict[float, list[Span]]:
        spans: dict[float, list[Span]] = {}
        for match in NUMBER_PATTERN.finditer(self._rest):
            unit = UNIT.match(self._rest, match.end())
            if unit:
                for value in _values(match[0], TIMES[unit[1].lower()]):
                    spans.setdefault(value, []).append((match.start(), unit.end()))
        return spans


def _number_starts(numbers: Collection[str], text: str) -> dict[str, list[int]]:
    """Where runs of digits begin that are these numbers' but for zeros and what separates them."""
    starts: dict[str, list[int]] = {_nonzero_digits(number): [] for number in numbers}
    runs = [match.span() for match in DIGIT_RUN.finditer(text)] if numbers else []
    for index, (first, reached) in enumerate(runs):
        key = ""
        for start, end in runs[index : index + LONGEST_NUMBER // 2]:
            if start - reached > 3 or len(key) > LONGEST_NUMBER:
                break
            key += _nonzero_digits(text[start:end])
            reached = end
            if key in starts and first not in starts[key][-1:]:
                starts[key].append(first)
    return starts


def _nonzero_digits(number: str) -> str:
    """The digits that every notation of a number has, in order: all but zeros."""
    return "".join(DIGIT_RUN.findall(number)).replace("0", "")


@lru_cache(maxsize=4096)
def _same_number(number: str) -> re.Pattern[str]:
    """A pattern that matches these digits as other languages write them."""
    number = number.removeprefix("+")
    groups = re.split(r"\D", number)
    marks = re.findall(r"\D", number)
    pattern = _without_zeros(groups[0])
    for place, (mark, group) in enumerate(zip(marks, groups[1:], strict=True)):
        if mark == ":":  # 10:30, 10h30, 10시 30분; the first digit of the minutes may be a zero
            pattern += rf"\D{{1,3}}{'0?' + group[1:] if group[0] == '0' else group}"
        elif mark in "-/":  # a date, a telephone number
            pattern += rf"\D{{1,3}}{_without_zeros(group)}"
        elif len(group) == 3 and (len(groups) > 2 or mark != "."):
            pattern += f"[{GROUPING}]?{group}"  # thousands
        elif len(groups) > 2 and place < len(marks) - 1:
            pattern += rf"\D{{1,3}}{_without_zeros(group)}"  # a date, a version
        else:
            pattern += f"[.,·٫]{group}"
    if not marks and len(number) > 3:  # 10000 as 10,000
        rest = len(number) % 3
        grouped = [number[:rest]] * bool(rest) + re.findall("...", number[rest:])
        pattern = f"[{GROUPING}]?".join(grouped)
    return re.compile(BEGINS.pattern + pattern + ENDS.pattern)


def _without_zeros(group: str) -> str:
    digits = group.lstrip("0")
    return f"0*+{digits}" if digits else "0++"


def _values(number: str, times: float = 1.0) -> set[float]:
    """The values that a number may have, by either convention for commas and points."""
    values = set()
    for decimal in ".,":
        plain = re.sub(r"[^\d" + re.escape(decimal) + "]", "", number).replace(decimal, ".")
        if plain.count(".") < 2:
            values.add(round(float(plain) * times, 6))
    values.add(round(float(re.sub(r"\D", "", number)) * times, 6))
    return values


def _check_pattern(pattern: str) -> None:
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        raise ConfigError(
            "a pattern of strings to keep is not a regular expression.",
            expected="a Python regular expression, such as '\\[[a-z]+\\]'",
            got=f"{pattern!r}: {error}",
        ) from None
    if compiled.fullmatch(""):
        raise ConfigError(
            "a pattern of strings to keep can never match.",
            expected="a pattern of at least one letter",
            got=repr(pattern),
        )


def as_keep(given: bool | Sequence[str]) -> Keep | None:
    """The built-in patterns, nothing, or the built-in patterns and these.

    Raises:
        ConfigError: a pattern is not a regular expression.
    """
    if isinstance(given, bool):
        return Keep() if given else None
    if isinstance(given, str):
        raise ConfigError(
            "strings to keep are given as a list of patterns.",
            expected=f"keep=[{given!r}]",
            got=f"keep={given!r}",
        )
    return Keep(given)
