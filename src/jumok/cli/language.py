"""The language of `--help` and of errors: korean.toml has the Korean of the texts of help, and
korean_errors/ that of the sentences of errors, in files by area.
"""

import json
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache, lru_cache
from importlib import resources
from typing import Any

import typer

from jumok.environment import language
from jumok.errors import JumokError, Location

PARTS = {"error": "오류", "expected": "기대한 것", "got": "받은 것", "do": "해결 방법"}
"""The words before the parts of an error."""


@cache
def table() -> Mapping[str, Mapping[str, str]]:
    """The Korean texts of help, by group and by what they translate."""
    return tomllib.loads(resources.files("jumok.cli").joinpath("korean.toml").read_text("utf-8"))


def how_to_stop(chosen: str | None = None) -> str:
    """What a server says below its address, in the chosen language or the reader's."""
    english = "Press Ctrl-C to stop."
    return table()["stopping"][english] if (chosen or language()) == "ko" else english


@cache
def sentences(group: str) -> Mapping[str, str]:
    """The Korean sentences by their English templates: "errors", or "usage" for
    typer's own.

    {} in a template is a value or another sentence; {0} and {1} in the Korean are the first and the
    second of them.
    """
    if group == "usage":
        return table()[group]
    areas = resources.files("jumok.cli").joinpath("korean_errors").iterdir()
    return {  # JSON: as TOML so many take 60 ms to read
        english: korean
        for area in areas
        for english, korean in json.loads(area.read_text("utf-8")).items()
    }


def translated(command: Any, name: str) -> Any:
    """The command, and those below it, with their help in the reader's language.

    What has no Korean text keeps its English one.
    """
    if language() != "ko":
        return command
    translate_texts(command, name)
    english = command.format_help
    command.format_help = lambda ctx, formatter: help_in_korean(command, ctx, formatter, english)
    for below, each in getattr(command, "commands", {}).items():
        translated(each, f"{name} {below}")
    return command


def translate_texts(command: Any, name: str) -> None:
    """Gives the command its Korean description, headings and texts of options."""
    texts = table()
    for each in ("options_metavar", "subcommand_metavar"):
        if metavar := getattr(command, each, None):
            setattr(command, each, texts["words"].get(metavar, metavar))
    if korean := texts["commands"].get(name):
        examples = filter(is_example, (command.help or "").split("\n\n"))
        command.help = "\n\n".join([korean, *examples])
    command.rich_help_panel = texts["panels"].get(
        panel := getattr(command, "rich_help_panel", None) or "", panel or None
    )
    for each in command.params:
        each.help = texts["options"].get(help := getattr(each, "help", None) or "", help or None)
        panel = getattr(each, "rich_help_panel", None) or ""
        each.rich_help_panel = texts["panels"].get(panel, panel or None)


def is_example(part: str) -> bool:
    """Whether a paragraph of a help is a command."""
    return part.startswith(("  ", "jumok "))


def help_in_korean(
    command: Any, ctx: Any, formatter: Any, english: Callable[[Any, Any], None]
) -> None:
    """Writes the help of one command as `english` does, typer's own words in Korean, too."""
    command.get_help_option(ctx).help = table()["options"]["Show this message and exit."]
    _use_korean()
    english(ctx, formatter)


@contextmanager
def faults_in_korean(command: Any) -> Iterator[None]:
    """Around what reads the words of the command line: typer shows its errors in Korean."""
    try:
        yield
    except (JumokError, typer.Exit):
        raise
    except Exception:
        if language() == "ko":
            translate_texts(command, "")
            _use_korean()
        raise


def _use_korean() -> None:
    """Gives typer's module of texts its Korean; late, because rich takes time to import."""
    from rich.text import Text
    from typer import rich_utils

    words, english = table()["words"], rich_utils.OptionHighlighter()
    for name, value in list(vars(rich_utils).items()):
        if name.isupper() and isinstance(value, str):
            setattr(rich_utils, name, words.get(value, value))

    def in_korean(text: Any) -> Text:
        return english(_sentence(text, "usage") if isinstance(text, str) else text)

    rich_utils.highlighter = in_korean  # type: ignore[assignment]  # errors pass through it, too
    Text.rstrip_end = _rstrip_end  # type: ignore[method-assign, assignment]


def _rstrip_end(text: Any, size: int) -> None:
    """As rich's, but measured in cells.

    A Korean character takes two: rich (15.0) counts characters, keeps the blank after a line that
    is full, and then cuts the line with its last character.
    """
    blanks = len(text.plain) - len(text.plain.rstrip())
    if (cropped := min(blanks, text.cell_len - size)) > 0:
        text.right_crop(cropped)


def said(error: JumokError) -> str:
    """The error in the reader's language; a sentence without a Korean text stays English."""
    if language() != "ko":
        return f"error: {error}"
    lines = [f"{PARTS['error']}: {_place(error.place)}{_sentence(error.what, 'errors')}"]
    lines += [
        f"  {PARTS[name]}: {_sentence(value, 'errors')}"
        for name in ("expected", "got", "do")
        if (value := getattr(error, name)) is not None
    ]
    return "\n".join(lines)


def _place(place: Location | None) -> str:
    if place is None:
        return ""
    line = f" {place.line}번째 줄" if place.line is not None else ""
    byte = f" 바이트 {place.byte}" if place.byte is not None else ""
    return f"{place.file}{line}{byte}: "


def _sentence(english: str, group: str, depth: int = 3) -> str:
    """A sentence in Korean, by the template that says most of those that fit.

    Args:
        depth: of the sentences within it that are translated, too.
    """
    if (whole := sentences(group).get(english)) is not None:
        return whole.format()
    for parts, korean in _templates(group, english[:4]):
        if (values := _values(parts, english)) is not None:
            inner = (_lines(each, group, depth - 1) for each in values) if depth else values
            return korean.format(*inner)
    return english


def _lines(english: str, group: str, depth: int) -> str:
    """A value, or sentences in lines of their own."""
    lines = english.split("\n  ")
    return "\n  ".join(_sentence(line, group, depth) for line in lines)


@lru_cache(maxsize=256)  # starts of sentences may come from outside
def _templates(group: str, start: str) -> list[tuple[list[str], str]]:
    """The templates of what starts so: the text around each {}, and the Korean.

    Those that say most come first.
    """
    found = [
        (template.split("{}"), korean)
        for template, korean in sentences(group).items()
        if "{}" in template and start.startswith(template.partition("{}")[0][: len(start)])
    ]
    return sorted(found, key=lambda each: -sum(map(len, each[0])))


def _values(parts: list[str], text: str) -> list[str] | None:
    """The text between the parts of a template, the shortest that fits; None: another text."""
    first, *others = parts
    if not (text.startswith(first) and text.endswith(others[-1])):
        return None
    text, values = text[len(first) :], []
    for number, part in enumerate(others, 1):
        place = text.find(part) if number < len(others) else len(text) - len(part)
        if place < 0 or not text.startswith(part, place):
            return None
        values.append(text[:place])
        text = text[place + len(part) :]
    return values
