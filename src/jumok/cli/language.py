"""The language of `--help` and of errors: korean.toml has the Korean of the English texts."""

import re
import tomllib
from collections.abc import Callable, Mapping
from functools import cache
from importlib import resources
from typing import Any

from jumok.environment import language
from jumok.errors import JumokError

PARTS = {"error": "오류", "expected": "기대한 것", "got": "받은 것", "do": "해결 방법"}
"""The words before the parts of an error."""


@cache
def table() -> Mapping[str, Mapping[str, str]]:
    """The Korean texts, by group and by what they translate."""
    return tomllib.loads(resources.files("jumok.cli").joinpath("korean.toml").read_text("utf-8"))


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
    command.help = texts["commands"].get(name, command.help)
    command.rich_help_panel = texts["panels"].get(
        panel := getattr(command, "rich_help_panel", None) or "", panel or None
    )
    for each in command.params:
        each.help = texts["options"].get(help := getattr(each, "help", None) or "", help or None)
        panel = getattr(each, "rich_help_panel", None) or ""
        each.rich_help_panel = texts["panels"].get(panel, panel or None)


def help_in_korean(
    command: Any, ctx: Any, formatter: Any, english: Callable[[Any, Any], None]
) -> None:
    """Writes the help of one command as `english` does, typer's own words in Korean, too."""
    from rich.text import Text
    from typer import rich_utils

    words = table()["words"]
    for name in ("options_metavar", "subcommand_metavar"):
        if english_words := getattr(command, name, None):
            setattr(command, name, words.get(english_words, english_words))
    command.get_help_option(ctx).help = table()["options"]["Show this message and exit."]
    usage = command.get_usage(ctx)
    command.get_usage = lambda _: usage.replace("Usage: ", words["Usage: "], 1)
    for name, value in list(vars(rich_utils).items()):
        if name.isupper() and isinstance(value, str):
            setattr(rich_utils, name, words.get(value, value))
    Text.rstrip_end = _rstrip_end  # type: ignore[method-assign, assignment]
    english(ctx, formatter)


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
    place = f"{error.place}: " if error.place else ""
    lines = [f"{PARTS['error']}: {place}{_sentence(error.what)}"]
    lines += [
        f"  {PARTS[name]}: {_sentence(value)}"
        for name in ("expected", "got", "do")
        if (value := getattr(error, name)) is not None
    ]
    return "\n".join(lines)


def _sentence(english: str) -> str:
    """A sentence of an error in Korean, by its template: {} is a value or another sentence."""
    for template, korean in table()["errors"].items():
        pattern = re.escape(template).replace(r"\{\}", "(.*)")
        if values := re.fullmatch(pattern, english, re.DOTALL):
            return korean.format(*map(_sentence, values.groups()))
    return english
