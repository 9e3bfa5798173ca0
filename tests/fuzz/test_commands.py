"""Command lines at random, of every verb: code 0 or 2 (`doctor`: or 1), and never a traceback."""

import os
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from jumok.cli.main import app
from jumok.errors import DataError, JumokError
from tests.fuzz.mutating import budgets, run
from tests.systems.lm import write_lm
from tests.systems.pictures import write_captioner, write_noise
from tests.systems.untrained import write_classifier, write_masked, write_text_classifier

# What serves, trains for minutes or opens a browser is not tried at random.
NEVER = {"demo", "lab", "train"}
ALWAYS = {"look": ["--save", "out.html"], "smallworld": ["--pairs", "3", "--held-out", "1"]}
WORDS = (
    *("", "0", "1", "2", "-1", "1000000", "99999999999999999999", "9" * 5_000, "nan", "inf"),
    *("-inf", "1e308", "0.5", "x", "cat", "the cat", "가", "\udcff", "a" * 300, "0-0", "1p2"),
    *("-", "--", ".", "..", "en,ko", "0,1", "meta", "mps", "cuda:9", "cpu", "fp32", "bf16"),
    # No device and no "/": as root a command could replace the machine's own files.
    *("weights", "full", "greedy", "alignment", "encoder", "{}", "[["),
)


@pytest.fixture(scope="module")
def place(tiny_bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model of each family, and files of each kind."""
    folder = tmp_path_factory.mktemp("place")
    os.symlink(tiny_bundle, folder / "translator")
    write_lm(folder / "writer")
    write_masked(folder / "filler")
    write_text_classifier(folder / "sorter")
    write_classifier(folder / "viewer")
    write_captioner(folder / "captioner")
    write_noise(folder / "a.png")
    (folder / "a.en").write_text("the cat\na dog\n")
    (folder / "a.ko").write_text("고양이\n개\n")
    (folder / "a.tsv").write_text("the cat\t고양이\t0-0\na dog\t개\t1-0\n")
    (folder / "bad.txt").write_bytes(b"\xff\xfe\0")
    np.save(folder / "v.npy", np.zeros(3))
    os.symlink("ring", folder / "ring")
    return folder


def words_of(random: Random, place: Path) -> list[str]:
    """A verb with arguments and options of its own, most of them wrong."""
    command: Any = typer.main.get_command(app)
    verb = random.choice(sorted(set(command.commands) - NEVER))
    files = [each.name for each in sorted(place.iterdir())]

    def word() -> str:
        return random.choice(files) if random.random() < 0.6 else random.choice(WORDS)

    given = [verb]
    for parameter in command.commands[verb].params:
        if parameter.param_type_name == "argument":
            if parameter.required or random.random() < 0.7:
                given.append(word())
        elif random.random() < 0.15 and "--browser" not in parameter.opts:
            given.append(random.choice(parameter.opts))
            if not getattr(parameter, "is_flag", False):
                given.append(word())
    return [*given, *ALWAYS.get(verb, [])]


@budgets(60)
def test_commands_at_random(
    place: Path, cases: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(place)
    kept = {each.name for each in place.iterdir()}

    def case(random: Random) -> None:
        words = words_of(random, place)
        done = CliRunner().invoke(app, words, input="the cat\n___ dog\na.png\n")
        for each in place.iterdir():
            if each.name not in kept and each.is_file():
                each.unlink()
        error = done.exception
        if isinstance(error, JumokError):
            raise error
        if isinstance(error, OSError) and error.filename is not None:
            raise DataError(str(error))  # as `jumok.cli.main.run` reports it
        if isinstance(error, UnicodeEncodeError):
            return  # `run` replaces what a terminal cannot show
        if isinstance(error, Exception) and not isinstance(error, SystemExit):
            fault = AssertionError(f"{words}: {type(error).__name__}: {error}")
            raise fault.with_traceback(error.__traceback__) from None
        found_broken = words[0] == "doctor" and done.exit_code == 1
        assert done.exit_code in (0, 2) or found_broken, words

    run("command", cases, case)
