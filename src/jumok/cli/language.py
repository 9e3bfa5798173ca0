"""The language of `--help` and of errors: korean.toml has the Korean of the English texts."""

import tomllib
from collections.abc import Mapping
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
    """The command with its help in the reader's language.

    What has no Korean text keeps its English one.
    """
    if language() != "ko":
        return command
    texts = table()
    command.help = texts["commands"].get(name, command.help)
    command.rich_help_panel = texts["panels"].get(
        panel := getattr(command, "rich_help_panel", None) or "", panel or None
    )
    for each in command.params:
        each.help = texts["options"].get(help := getattr(each, "help", None) or "", help or None)
        panel = getattr(each, "rich_help_panel", None) or ""
        each.rich_help_panel = texts["panels"].get(panel, panel or None)
    return command


def said(error: JumokError) -> str:
    """The error with the words before its parts in the reader's language."""
    if language() != "ko":
        return f"error: {error}"
    place = f"{error.place}: " if error.place else ""
    lines = [f"{PARTS['error']}: {place}{error.what}"]
    lines += [
        f"  {PARTS[name]}: {value}"
        for name in ("expected", "got", "do")
        if (value := getattr(error, name)) is not None
    ]
    return "\n".join(lines)
