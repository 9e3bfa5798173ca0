"""The commands that the documents name inside their sentences exist, with these options.

Those in blocks of the READMEs are run (tests/browser/test_readme.py).
"""

import re
import shlex
from pathlib import Path

import pytest
import typer

from jumok.cli.main import app

ROOT = Path(__file__).parents[2]
FOLDERS = (ROOT / "docs", ROOT / "docs" / "course")
DOCUMENTS = sorted(
    [*ROOT.glob("README*.md"), *(each for at in FOLDERS for each in at.glob("*.md"))]
)
INLINE = re.compile(r"`([^`]*)`", re.DOTALL)
BLOCK = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
COMMAND = re.compile(r"jumok [a-z-]")


def commands(document: Path) -> list[str]:
    """The commands inside sentences, each on one line."""
    text = BLOCK.sub("", document.read_text("utf-8"))
    found = (re.sub(r"\s+", " ", each).strip() for each in INLINE.findall(text))
    return [each for each in found if COMMAND.match(each)]


def unknown(command: str) -> list[str]:
    """The verb or the options that jumok does not have."""
    words = [word.rstrip(",;.") for word in shlex.split(command)[1:] if word != "..."]
    node = typer.main.get_command(app)
    strange = []
    while words:
        word = words.pop(0)
        if hasattr(node, "commands") and not word.startswith("-"):
            if word == "VERB":  # any of them
                break
            if word not in node.commands:
                return [word]
            node = node.commands[word]
            continue
        options = {name for each in node.params for name in (*each.opts, *each.secondary_opts)}
        if word.startswith("--") and word.split("=")[0] not in {*options, "--help", "--version"}:
            strange.append(word)
        if word == "--plugin":  # comes before the verb, with a file
            words = words[1:]
    return strange


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_documented_commands_exist(document):
    wrong = {each: found for each in commands(document) if (found := unknown(each))}
    assert not wrong, wrong


def test_an_unknown_verb_or_option_is_found():
    assert unknown("jumok translate MODEL --beams 5") == ["--beams"]
    assert unknown("jumok traduce MODEL") == ["traduce"]
    assert unknown("jumok --plugin a.py look MODEL --save page.html") == []
    assert sum(map(len, map(commands, DOCUMENTS))) > 60
