"""What the terminal shows, however wide it is: whole words, whole letters, no empty facts."""

import io
import re

import pytest
from rich.console import Console
from typer.testing import CliRunner

from jumok.cli import screen
from jumok.cli.main import app
from jumok.cli.verbs.info import architecture
from jumok.errors import ConfigError
from jumok.training.screen import LiveScreen
from jumok_lectures.catalog import LABS, find
from jumok_lectures.verbs import lab


@pytest.mark.parametrize("lang", ["en", "ko"])
def test_the_list_of_labs_keeps_every_letter_at_every_width(monkeypatch, lang):
    """Rich ends a full line of wide letters with "…" where a space follows it."""
    told = [f"{one.name}{one.seconds}s{one.claim.of(lang)}" for one in LABS]
    letters = len(re.sub(r"\s", "", "".join(told)))
    for width in range(50, 121):
        screen = Console(file=io.StringIO(), width=width, markup=False, highlight=False)
        monkeypatch.setattr(lab, "console", lambda screen=screen: screen)
        lab.show_list(LABS, lang)
        shown = re.sub(r"\s", "", screen.file.getvalue())
        assert (width, len(shown)) == (width, letters)
        assert "…" not in shown


def test_a_name_that_is_far_from_every_lab_is_compared_with_none():
    for name, near in (("nope", None), ("copie", "copies"), ("postions", "positions")):
        with pytest.raises(ConfigError) as caught:
            find(name)
        assert ("did you mean" in str(caught.value)) == (near is not None)
        assert near is None or f"did you mean {near!r}?" in str(caught.value)


def test_what_is_not_set_is_no_fact_of_a_model():
    told = list(architecture({"dim": 8, "head_dim": None, "encoder": {"value_dim": None}}))
    assert told == ["dim 8"]


def test_a_long_line_is_not_broken_within_a_word():
    stream = io.StringIO()
    live = LiveScreen(Console(file=stream, width=40, force_terminal=True))
    line = f"{'a ' * 19}everyletterofthisword stays"
    live.say(line)
    live.close()
    assert line in stream.getvalue()


@pytest.mark.parametrize("verb", ["explain", "train"])
def test_examples_of_the_help_are_indented(verb):
    lines = CliRunner().invoke(app, [verb, "--help"], env={"COLUMNS": "80"}).output.splitlines()
    examples = [line for line in lines if line.strip().startswith(f"jumok {verb}")]
    assert examples
    assert all(line.startswith("   jumok") for line in examples)


@pytest.mark.parametrize("terminal", [True, False])
def test_a_long_computation_shows_its_passes_on_a_terminal_alone(monkeypatch, capsys, terminal):
    monkeypatch.setattr("sys.stderr.isatty", lambda: terminal, raising=False)
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    with screen.waiting("Attribution:") as count:
        count()
        count()
    out, err = capsys.readouterr()
    assert out == ""
    assert ("Attribution: 2 passes" in re.sub(r"\x1b\[[^m]*m", "", err)) == terminal
