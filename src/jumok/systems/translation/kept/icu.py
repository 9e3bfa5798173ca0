"""ICU messages: `{count, plural, one {# cat} other {# cats}}`. Only their texts are translated.

A choice within a sentence is moved around it, so that each of its variants is a whole sentence:
"I saw {n, plural, one {a cat} other {# cats}}." becomes "{n, plural, one {I saw a cat.} other {I
saw # cats.}}", which is also what translators are advised to write.

Syntax: https://unicode-org.github.io/icu/userguide/format_parse/messages/
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from math import fsum

from jumok.systems.translation.result import Translation, noted

_CHOICE = re.compile(r"\{\s*([\w.-]+)\s*,\s*(plural|select|selectordinal)\s*,\s*(offset:\d+\s*)?")
_SELECTOR = re.compile(r"\s*(=\d+|[\w.-]+)\s*\{")
_SIMPLE = re.compile(r"\{[^{}']*\}")
_PLAIN = re.compile(r"[^{}'#]+")
_QUOTED = re.compile(r"'[{}#|](?:[^']|'')*+(?:'|\Z)")
_ARGUMENT = re.compile(rf"{_SIMPLE.pattern}|''|{_QUOTED.pattern}")
_SIGNS, _COUNTED_SIGNS = re.compile("[{}]+"), re.compile("[{}#]+")
_BESIDE_SIGN = re.compile(r"'(?=['{}#|]|\Z)|(?<=['{}#|])'")
NUMBER_SIGN = "{#}"
"""The number of a plural, as it is translated: a placeholder."""

DEEPEST = 8
MOST_VARIANTS = 64


@dataclass(frozen=True)
class Choice:
    """An argument with a message for each of its values."""

    head: str
    counts: bool
    options: tuple[tuple[str, "Message"], ...]


Message = tuple["str | Choice", ...]


class _MessageError(ValueError):
    """It is no message."""


def has_choice(text: str) -> bool:
    """Whether a text may be a message with a choice."""
    return "{" in text and _CHOICE.search(text) is not None


def parse(text: str) -> Message | None:
    """The parts of a message; None if it is not well-formed, or has no choice."""
    try:
        message, end = _message(text, 0, 0, counts=False)
    except _MessageError:
        return None
    well = end == len(text) and any(isinstance(part, Choice) for part in message)
    return message if well else None


def _message(text: str, at: int, depth: int, counts: bool) -> tuple[Message, int]:
    parts: list[str | Choice] = []
    words: list[str] = []

    def end_words() -> None:
        if words:
            parts.append("".join(words))
            words.clear()

    while at < len(text) and text[at] != "}":
        choice = _CHOICE.match(text, at)
        plain = _PLAIN.match(text, at)
        if choice:
            end_words()
            part, at = _choice(text, choice, depth, counts)
            parts.append(part)
        elif plain:
            words.append(plain[0])
            at = plain.end()
        elif text[at] == "#":
            words.append(NUMBER_SIGN if counts else "#")
            at += 1
        elif text.startswith("''", at):
            words.append("''")
            at += 2
        elif quoted := _QUOTED.match(text, at):
            words.append(quoted[0])
            at = quoted.end()
        elif simple := _SIMPLE.match(text, at):
            words.append(simple[0])
            at = simple.end()
        elif text[at] == "'":
            words.append("'")
            at += 1
        else:
            raise _MessageError
    end_words()
    return tuple(parts), at


def _choice(text: str, begun: re.Match[str], depth: int, counts: bool) -> tuple[Choice, int]:
    if depth >= DEEPEST:
        raise _MessageError
    counts = counts or begun[2] != "select"  # a # in a select belongs to the plural around it
    options: list[tuple[str, Message]] = []
    at = begun.end()
    while selector := _SELECTOR.match(text, at):
        inside, at = _message(text, selector.end(), depth + 1, counts)
        if not text.startswith("}", at):
            raise _MessageError
        options.append((selector[1], inside))
        at += 1
    while text[at : at + 1].isspace():
        at += 1
    if not options or not text.startswith("}", at):
        raise _MessageError
    head = f"{begun[1]}, {begun[2]}, {begun[3] or ''}"
    return Choice(head, counts, tuple(options)), at + 1


def whole_message(message: Message) -> Message:
    """The message with its first choice around all of it, if nothing else would change."""
    place = next((place for place, part in enumerate(message) if isinstance(part, Choice)), None)
    if place is None:
        return message
    choice = message[place]
    assert isinstance(choice, Choice)
    before, after = message[:place], message[place + 1 :]
    several = any(isinstance(part, Choice) for part in after)
    around = "".join(part for part in (*before, *after) if isinstance(part, str))
    # A # has another meaning within a plural, and two choices in a sentence depend on each other.
    if several or not around.strip() or (choice.counts and "#" in around) or NUMBER_SIGN in around:
        return message
    options = [
        (name, whole_message(_joined_parts((*before, *inside, *after))))
        for name, inside in choice.options
    ]
    return (replace(choice, options=tuple(options)),)


def _joined_parts(parts: Sequence["str | Choice"]) -> Message:
    joined: list[str | Choice] = []
    for part in parts:
        if isinstance(part, str) and joined and isinstance(joined[-1], str):
            joined[-1] += part
        else:
            joined.append(part)
    return tuple(joined)


def texts_of(message: Message) -> Iterator[str]:
    """The texts of a message, in order, as people read them."""
    for part in message:
        if isinstance(part, str):
            yield _ARGUMENT.sub(_unquoted, part)
        else:
            for _, inside in part.options:
                yield from texts_of(inside)


def written(message: Message, texts: Iterator[str], counts: bool = False) -> str:
    """The message with other texts."""
    parts: list[str] = []
    for part in message:
        if isinstance(part, str):
            text = next(texts)
            space = part[: len(part) - len(part.lstrip())], part[len(part.rstrip()) :]
            quoted = _quoted_message(text.strip(), _ARGUMENT.findall(part), counts)
            text = space[0] + quoted + space[1] if part.strip() else part
            parts.append(text.replace(NUMBER_SIGN, "#") if counts else text)
        else:
            options = (
                f"{name} {{{written(inside, texts, part.counts)}}}" for name, inside in part.options
            )
            parts.append(f"{{{part.head}{' '.join(options)}}}")
    return "".join(parts)


def _unquoted(match: re.Match[str]) -> str:
    """An argument as it is; what is quoted without its quotes."""
    if match[0].startswith("{"):
        return match[0]
    return match[0].removeprefix("'").removesuffix("'").replace("''", "'") or "'"


def _quoted_message(text: str, arguments: Sequence[str], counts: bool) -> str:
    """A text in which only these arguments, each as often as here, are what ICU replaces."""
    left = Counter(each for each in arguments if each.startswith("{"))
    signs = _COUNTED_SIGNS if counts else _SIGNS
    parts, at = [], 0
    for match in _SIMPLE.finditer(text):
        if left[match[0]]:
            left[match[0]] -= 1
            parts += [_literal(text[at : match.start()], signs), match[0]]
            at = match.end()
    return "".join([*parts, _literal(text[at:], signs)])


def _literal(text: str, signs: re.Pattern[str]) -> str:
    """A text that ICU shows as it is: signs are quoted, and an apostrophe beside one is doubled."""
    return signs.sub(r"'\g<0>'", _BESIDE_SIGN.sub("''", text))


@dataclass(frozen=True)
class Messages:
    """Lines, of which some are messages.

    Attributes:
        texts: what is translated: the lines, and the texts of the messages in their places.
    """

    lines: Sequence[str]
    messages: dict[int, Message | None]

    @classmethod
    def of(cls, lines: Sequence[str], read: bool = True) -> "Messages":
        """Finds the messages, if they are to be read; a damaged one is None, and is copied."""
        numbers = [line for line, text in enumerate(lines) if read and has_choice(text)]
        return cls(lines, {line: _readable(lines[line]) for line in numbers})

    def _texts(self, line: int) -> list[str]:
        if line not in self.messages:
            return [self.lines[line]]
        message = self.messages[line]
        return [] if message is None else list(texts_of(message))

    @cached_property
    def texts(self) -> list[str]:
        return [text for line in range(len(self.lines)) for text in self._texts(line)]

    @cached_property
    def owners(self) -> list[int]:
        """The index of each text's line."""
        return [line for line in range(len(self.lines)) for _ in self._texts(line)]

    def prefixes(self, prefixes: Sequence[str] | None) -> Sequence[str] | None:
        """The forced beginning of each text: that of a message is its first text's."""
        if prefixes is None or len(prefixes) != len(self.lines):
            return prefixes
        return [
            prefix if number == 0 else ""
            for line, prefix in enumerate(prefixes)
            for number in range(len(self._texts(line)))
        ]

    def joined(self, translations: Sequence[Translation]) -> list[Translation]:
        """A translation for each line; that of a message has no alignment."""
        rest = iter(translations)
        lines: list[Translation] = []
        for line, text in enumerate(self.lines):
            parts = list(islice(rest, len(self._texts(line))))
            if line not in self.messages:
                lines += parts
                continue
            message = self.messages[line]
            if message is not None:
                text = written(message, iter([part.text for part in parts]))
            values = [part.confidence for part in parts if part.confidence is not None]
            score = fsum(part.score for part in parts)
            sure = min(values, default=None)
            lines.append(
                Translation(
                    text,
                    score,
                    confidence=sure,
                    notes=noted(parts),
                    unknown_words=tuple(each for part in parts for each in part.unknown_words),
                    missing_terms=tuple(each for part in parts for each in part.missing_terms),
                )
            )
        return lines


def _readable(text: str) -> Message | None:
    message = parse(text)
    if message is None:
        return None
    return whole_message(message) if _count_variants(message) <= MOST_VARIANTS else message


def _count_variants(message: Message) -> int:
    """How many messages without a choice there are in the choices of this one."""
    inner = [inside for part in message if isinstance(part, Choice) for _, inside in part.options]
    return sum(_count_variants(inside) or 1 for inside in inner)
