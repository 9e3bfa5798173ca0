"""Commands in the documents, and whether they exist with their options."""

import argparse
import importlib
import re
import shlex
from functools import cache
from pathlib import Path
from unittest import mock

import typer

from jumok.cli.main import app

ROOT = Path(__file__).parents[1]
INLINE = re.compile(r"`([^`]*)`", re.DOTALL)
BLOCK = re.compile(r"^```[^\n]*\n(.*?)^```$|(?<=\n\n)((?: {4}[^\n]*\n)+)", re.DOTALL | re.MULTILINE)
COMMAND = re.compile(r"jumok [a-z-]|python -m (?:benchmarks|tests)\b|make [a-z-]+(?: |$)")
ADDED = {"--top-a"}  # what docs/adding.md adds; tests/extending/test_adding.py runs it
FOLDERS = {"photos"}  # the reader's own, in docs/start.md


def documents() -> list[Path]:
    """Every Markdown file that a reader or a contributor reads, but for the diary of changes."""
    found = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    return sorted(each for each in found if each.name != "CHANGELOG.md")


def inline_commands(text: str) -> list[str]:
    """The commands inside sentences and tables, each on one line."""
    found = (re.sub(r"\s+", " ", each).strip() for each in INLINE.findall(BLOCK.sub("", text)))
    return [each for each in found if COMMAND.match(each)]


def block_commands(text: str) -> list[str]:
    """The commands of the code blocks, each on one line, without comments and redirection."""
    bodies = "".join(fenced or indented for fenced, indented in BLOCK.findall(text))
    lines = (re.sub(r"\s+", " ", each).strip() for each in bodies.replace("\\\n", " ").splitlines())
    commands = (re.split(r" #| > | \| ", each)[0] for each in lines)
    return [each for each in commands if COMMAND.match(each)]


@cache
def unknown(command: str) -> list[str]:
    """What `command` names that there is not: a verb, an option, a module, a recipe, a target."""
    words = [word.rstrip(",;.") for word in shlex.split(command)]
    words = [word for word in words if word]  # "..." stands for further words
    if words[0] == "jumok":
        return _unknown_to_jumok(words[1:])
    if words[0] == "make":
        targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
        return [word for word in words[1:] if "=" not in word and word not in targets]
    return _unknown_to_module(words[2], words[3:])


def _unknown_to_jumok(words: list[str]) -> list[str]:
    node = _command()
    verb, strange = "", []
    while words:
        word = words.pop(0)
        if hasattr(node, "commands") and not word.startswith("-"):
            if word == "VERB":  # any of them
                break
            if word not in node.commands:
                return [word]
            verb, node = word, node.commands[word]
            if verb in ("train", "plan", "sweep") and words and _no_recipe(words[0]):
                strange.append(words[0])
            continue
        options = {name for each in node.params for name in (*each.opts, *each.secondary_opts)}
        if word.startswith("--") and word.split("=")[0] not in {*options, *ADDED, "--help"}:
            strange.append(word)
        if word == "--plugin":  # comes before the verb, with a file
            words = words[1:]
    return strange


@cache
def _command() -> typer.core.TyperGroup:
    return typer.main.get_command(app)


def _no_recipe(word: str) -> bool:
    """Whether this names a recipe of jumok's, which there is not.

    Names in capitals, and files outside of recipes/, are the reader's own.
    """
    if re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", word) and word not in FOLDERS:
        return not (ROOT / "recipes" / f"{word}.toml").exists()
    return word.startswith("recipes/") and "NAME" not in word and not (ROOT / word).exists()


def _unknown_to_module(name: str, words: list[str]) -> list[str]:
    """What the argparse parser of `name` refuses; a module without one takes words alone."""
    source = _program(name)
    if source is None:
        return [name]
    strange = [word for word in words if word.startswith("recipes/") and _no_recipe(word)]
    options = {"--help"}
    if "ArgumentParser" in source:
        options |= {each for action in parser_of(name)._actions for each in action.option_strings}
    given = (word.split("=")[0] for word in words if word.startswith("--"))
    return strange + [word for word in given if word not in options]


def refused(command: str) -> bool:
    """Whether a benchmark's parser refuses this: a value, or one that is missing.

    A name alone, such as `python -m benchmarks.records`, is a mention.
    """
    _, _, name, *words = shlex.split(command)
    if not words or "ArgumentParser" not in (_program(name) or ""):
        return False
    try:
        parser_of(name).parse_args(words)
    except SystemExit:
        return "--help" not in words
    return False


def _program(name: str) -> str | None:
    """The source that `python -m NAME` runs; None if there is no such program."""
    parts = ROOT.joinpath(*name.split("."))
    for path in (parts / "__main__.py", parts.with_suffix(".py")):
        if path.is_file() and '__name__ == "__main__"' in (source := path.read_text("utf-8")):
            return source
    return None


class FoundError(Exception):
    """Carries the parser out of a program before it does anything."""


@cache
def parser_of(name: str) -> argparse.ArgumentParser:
    """The parser of the program that `python -m NAME` runs."""

    def stop(parser: argparse.ArgumentParser, *_: object) -> None:
        raise FoundError(parser)

    package = (ROOT.joinpath(*name.split("."))).is_dir()
    module = importlib.import_module(f"{name}.__main__" if package else name)
    with mock.patch.object(argparse.ArgumentParser, "parse_args", stop):
        try:
            module.main()
        except FoundError as found:
            return found.args[0]
    raise AssertionError(f"{name} made no parser")
