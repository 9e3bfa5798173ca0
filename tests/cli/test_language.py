"""Help and errors in Korean: by --lang, by JUMOK_LANG, by the system's language."""

import os
import subprocess
import sys

import pytest
import typer

from jumok.cli.language import said, table
from jumok.cli.main import app
from jumok.errors import DataError, Location

NONE = dict.fromkeys(("JUMOK_LANG", "LC_ALL", "LC_MESSAGES", "LANG"))


def jumok(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if name not in NONE}
    return subprocess.run(
        [sys.executable, "-m", "jumok", *words],
        env={**kept, "PYTHONUTF8": "1", **variables},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("words", "variables", "korean"),
    [
        ((), {}, False),
        (("--lang", "ko"), {}, True),
        ((), {"JUMOK_LANG": "ko"}, True),
        ((), {"LANG": "ko_KR.UTF-8"}, True),
        ((), {"LANG": "ko_KR.UTF-8", "LC_ALL": "en_US.UTF-8"}, False),
        ((), {"LANG": "ko_KR.UTF-8", "JUMOK_LANG": "en"}, False),
        (("--lang", "en"), {"LANG": "ko_KR.UTF-8"}, False),
    ],
)
def test_the_language_is_that_which_is_asked_for(words, variables, korean):
    help_ = jumok(*words, "info", "--help", **variables)
    assert ("모델의 크기" in help_.stdout) == korean
    assert ("Describe a model" in help_.stdout) != korean
    error = jumok(*words, "info", "nowhere", **variables)
    assert error.returncode == 2
    assert error.stderr.startswith("오류: nowhere" if korean else "error: nowhere")


def test_the_parts_of_an_error_are_named(monkeypatch, tmp_path):
    error = DataError(
        "odd.", expected="two", got="one", do="mend", place=Location(tmp_path / "a.txt", line=3)
    )
    monkeypatch.setenv("JUMOK_LANG", "ko")
    place = str(error).partition(": odd.")[0]
    assert (
        said(error) == f"오류: {place}: odd.\n  기대한 것: two\n  받은 것: one\n  해결 방법: mend"
    )
    monkeypatch.setenv("JUMOK_LANG", "en")
    assert said(error) == f"error: {error}"


def test_every_command_is_there_and_every_text_translates_one_that_exists(monkeypatch):
    monkeypatch.setenv("JUMOK_LANG", "en")
    commands = typer.main.get_command(app).commands
    texts = table()
    assert set(texts["commands"]) == set(commands)
    helps, panels = set(), set()
    waiting = list(commands.values())
    while waiting:
        command = waiting.pop()
        waiting += getattr(command, "commands", {}).values()
        panels.add(command.rich_help_panel)
        for each in command.params:
            helps.add(getattr(each, "help", None))
            panels.add(getattr(each, "rich_help_panel", None))
    assert set(texts["options"]) - helps == set()
    assert set(texts["panels"]) - panels == set()
