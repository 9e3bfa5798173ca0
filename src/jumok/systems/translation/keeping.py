"""What a translation must keep of its source: placeholders, addresses, numbers.

Two kinds of strings are kept. Those that are code (a placeholder, a URL, an e-mail address, an
entity, whatever the user's own patterns match) appear in the translation unchanged and as often as
in the source. Numbers of two digits or more may be written as the other language writes
them: 1,000.5 as 1.000,5, 10:30 as 10시 30분, 20,000 as 2만; their digits must be there.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from jumok.data.tokenizer import normalize
from jumok.errors import ConfigError

USUAL = (
    r"https?://[^\s<>\"'“”]*[^\s<>\"'“”.,;:!?)\]}、。，」』]",
    r"www\.[^\s<>\"'“”]*[^\s<>\"'“”.,;:!?)\]}、。，」』]",
    r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+",
    r"\{\{[^{}]*\}\}",
    r"\$\{[^{}]*\}",
    r"\{[^{}\s]*\}",
    r"%\([A-Za-z_]\w*\)[#0+-]*\d*(?:\.\d+)?[diouxXeEfFgGcrsa]",
    r"%(?:\d+\$)?[0+#-]*\d*(?:\.\d+)?[diuxXfFgGcsr@](?![A-Za-z])",
    r"\$[A-Z_][A-Z0-9_]+\b",
    r"&(?:[A-Za-z]\w{1,30}|#\d+|#x[0-9A-Fa-f]+);",
)
"""What counts as code in any text, as regular expressions."""

# A number that follows a letter is a part of a name: "w3", "utf8".
NUMBER = re.compile(r"(?<![A-Za-z_\d])\d+(?:[.,:'’\u00a0\u202f]\d+)*")
GONE = "\0"  # never in normalised text
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
            _check(pattern)
        every = [*patterns, *(USUAL if usual else ())]
        self.code = [re.compile(pattern) for pattern in every]
        self.usual = usual

    def find(self, text: str) -> list[Kept]:
        """The strings of a text that must be kept, from its start; they do not overlap."""
        text = normalize(text)
        found: list[Kept] = []
        taken = bytearray(len(text))
        for pattern in self.code:
            found += _matches(pattern, text, taken, "code")
        if self.usual:
            numbers = _matches(NUMBER, text, taken, "number")
            found += [one for one in numbers if sum(map(str.isdigit, one.text)) > 1]
        return sorted(found, key=lambda one: one.start)


def found_in(kept: Sequence[Kept], text: str) -> list[tuple[Kept, tuple[int, int] | None]]:
    """The span of each of a source's kept strings in this translation; None for a missing one.

    A string that was found is removed, so that no letter is counted twice.
    """
    places: list[tuple[Kept, tuple[int, int] | None]] = []
    for one in sorted(kept, key=lambda one: (one.kind, -len(one.text))):
        place = _place(one, text)
        places.append((one, place))
        if place is not None:
            start, end = place
            text = f"{text[:start]}{GONE * (end - start)}{text[end:]}"
    return sorted(places, key=lambda found: found[0].start)


def missing(kept: Sequence[Kept], text: str) -> list[Kept]:
    """Those of a source's kept strings that are not in this translation."""
    return [one for one, place in found_in(kept, text) if place is None]


def surplus(kept: Sequence[Kept], text: str) -> list[tuple[int, int]]:
    """The spans of code that a translation has more often than its source: the last ones."""
    spans = []
    for code in {one.text for one in kept if one.kind == "code"}:
        # What is inside a longer kept string is counted there.
        others = [one.text for one in kept if code in one.text and one.text != code]
        hidden = text
        for other in others:
            hidden = hidden.replace(other, GONE * len(other))
        places = [match.span() for match in re.finditer(re.escape(code), hidden)]
        wanted = sum(one.text == code for one in kept)
        spans += places[wanted:]
    return sorted(spans)


def _matches(
    pattern: re.Pattern[str], text: str, taken: bytearray, kind: Literal["code", "number"]
) -> list[Kept]:
    found = []
    for match in pattern.finditer(text):
        start, end = match.span()
        if end > start and not any(taken[start:end]):
            taken[start:end] = b"\1" * (end - start)
            found.append(Kept(match[0], start, end, kind))
    return found


def _place(one: Kept, text: str) -> tuple[int, int] | None:
    """The span of a kept string in a text, or of the same number in another notation."""
    pattern = re.escape(one.text)
    if one.kind == "code":
        # "%s" is not "%sx", nor "$USER" "$USERS"; punctuation and letters of other scripts may
        # follow a placeholder.
        tail = r"(?![A-Za-z0-9_])" if one.text[-1].isalnum() else ""
        match = re.search(pattern + tail, text)
        return match.span() if match else None
    match = _same_number(one.text).search(text)
    if match:
        return match.span()
    wanted = _values(one.text)
    for match in NUMBER.finditer(text):
        unit = UNIT.match(text, match.end())
        if unit and _values(match[0], TIMES[unit[1].lower()]) & wanted:
            return match.start(), unit.end()
    return None


@lru_cache(maxsize=4096)
def _same_number(number: str) -> re.Pattern[str]:
    """A pattern that matches these digits as other languages write them."""
    groups = re.split(r"\D", number)
    marks = re.findall(r"\D", number)
    pattern = f"0*{groups[0].lstrip('0') or '0'}"
    for place, (mark, group) in enumerate(zip(marks, groups[1:], strict=True)):
        if mark == ":":  # 10:30, 10h30, 10시 30분; the first digit of the minutes may be a zero
            pattern += rf"\D{{1,3}}{'0?' + group[1:] if group[0] == '0' else group}"
        elif len(group) == 3 and (len(groups) > 2 or mark != "."):
            pattern += f"[{GROUPING}]?{group}"  # thousands
        elif len(groups) > 2 and place < len(marks) - 1:
            pattern += rf"\D{{1,3}}0*{group.lstrip('0') or '0'}"  # a date, a version
        else:
            pattern += f"[.,·٫]{group}"
    if not marks and len(number) > 3:  # 10000 as 10,000
        rest = len(number) % 3
        grouped = [number[:rest]] * bool(rest) + re.findall("...", number[rest:])
        pattern = f"[{GROUPING}]?".join(grouped)
    return re.compile(rf"(?<!\d)(?<!\d[.,]){pattern}(?![.,]?\d)")


def _values(number: str, times: float = 1.0) -> set[float]:
    """The values that a number may have, by either convention for commas and points."""
    found = set()
    for decimal in ".,":
        plain = re.sub(r"[^\d" + re.escape(decimal) + "]", "", number).replace(decimal, ".")
        if plain.count(".") < 2:
            found.add(round(float(plain) * times, 6))
    found.add(round(float(re.sub(r"\D", "", number)) * times, 6))
    return found


def _check(pattern: str) -> None:
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
