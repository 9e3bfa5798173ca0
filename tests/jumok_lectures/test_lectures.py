"""docs/lectures.toml: every line of the notes has an answer, and every answer exists."""

import ast
import importlib.util
import re
import shlex
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
import typer

from jumok.cli.main import app
from jumok.config.recipe import load_config
from jumok_lectures.catalog import LABS
from jumok_lectures.course.catalog import CHAPTERS
from jumok_lectures.worked.catalog import worked
from tests.jumok_lectures.test_quotes import NOTES
from tests.jumok_lectures.test_report import HANGUL

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "jumok"


def load_script(name: str) -> ModuleType:
    """docs/NAME.py, which is in no package."""
    path = ROOT / "docs" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"docs_{name}", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # its dataclasses look for it
    spec.loader.exec_module(module)
    return module


DOCUMENT = load_script("lectures")
LECTURES = DOCUMENT.load()
LINES = LECTURES.lines
COMMANDS = sorted({command for line in LINES for command in line.run})


def parsed(command: str) -> dict[str, object]:
    """What the command line's own parser reads the arguments as.

    Raises:
        LookupError: there is no such verb.
        Exception: the parser's own, of a package inside typer: an option or a value is wrong.
    """
    name, verb, *rest = shlex.split(command)
    assert name == "jumok"
    return typer.main.get_command(app).commands[verb].make_context(verb, rest).params


def names_in(path: Path) -> set[str]:
    """Every class and function at the top of a file."""
    kinds = (ast.ClassDef, ast.FunctionDef)
    return {
        node.name for node in ast.parse(path.read_text("utf-8")).body if isinstance(node, kinds)
    }


def test_the_pages_are_those_of_the_file() -> None:
    for path, language in ((DOCUMENT.ENGLISH, "en"), (DOCUMENT.KOREAN, "ko")):
        written = path.read_text("utf-8")
        assert written == DOCUMENT.page(LECTURES, language), "run: python docs/lectures.py"


def test_the_lines_are_in_the_order_of_the_notes() -> None:
    places = [line.at for line in LINES]
    assert len(set(places)) == len(places)
    for note in LECTURES.apart:
        own = [line for line in LINES if line.lecture == note]
        first = [DOCUMENT.numbers(line.lines)[0] for line in own]
        assert first == sorted(first), note
        for line in own:
            assert line.quoted in DOCUMENT.numbers(line.lines) + DOCUMENT.numbers(line.also)


def test_quotes_are_verbatim_and_no_line_is_left_out() -> None:
    if not NOTES.is_dir():
        pytest.skip("the lecture notes are not here: $JUMOK_LECTURES names their folder")
    for name, apart in LECTURES.apart.items():
        (note,) = NOTES.glob(f"{name}_*")
        words = note.read_text("utf-8").splitlines()
        covered = set(DOCUMENT.numbers(apart))
        for line in (line for line in LINES if line.lecture == name):
            assert line.quote in words[line.quoted - 1], line.at
            covered |= {*DOCUMENT.numbers(line.lines), *DOCUMENT.numbers(line.also)}
        stating = {i for i, text in enumerate(words, 1) if re.sub("<br>|---", "", text).strip()}
        assert stating <= covered, name


@pytest.mark.parametrize("line", LINES, ids=lambda line: line.at)
def test_a_line_has_an_answer_in_both_languages(line) -> None:
    assert (
        line.course
        or line.worked
        or line.labs
        or line.run
        or line.views
        or line.code
        or line.docs
        or line.slip
    )
    assert HANGUL.search(line.ko) or line.ko == line.en  # a formula
    assert not HANGUL.search(line.en + line.note_en)
    assert bool(line.note_en) == bool(line.note_ko)
    assert HANGUL.search(line.note_ko) or not line.note_ko
    assert line.en.endswith(".")
    if line.slip:
        right = DOCUMENT.slips()[line.slip]
        assert DOCUMENT.cell(right.en) in DOCUMENT.answers(
            line, "en", {**DOCUMENT.view_names()["en"]}
        )


@pytest.mark.parametrize("line", LINES, ids=lambda line: line.at)
def test_every_answer_exists(line) -> None:
    for place in line.worked:
        assert len(worked(place)) == 1
    assert {*line.labs} <= {lab.name for lab in LABS}
    assert {*line.course} <= {*CHAPTERS}
    assert {*line.views} <= {*DOCUMENT.view_names()["en"]}
    for place in line.code:
        file, _, symbol = place.partition(":")
        assert not symbol or symbol in names_in(SOURCE / file), place
        assert (SOURCE / file).is_file(), place
    for target in line.docs:
        for language in ("en", "ko"):
            (path,) = re.findall(r"\]\(([^)#]*)", DOCUMENT.section(target, language))
            assert not path or (ROOT / "docs" / path).is_file()


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_is_read_by_the_parser(command: str) -> None:
    given = parsed(command)
    if command.startswith(("jumok train", "jumok recipes show")):
        recipe = next(word for word in shlex.split(command)[2:] if word not in ("show", "--set"))
        variables = {"JUMOK_DATA": "/data", "JUMOK_RUNS": "/runs"}
        load_config(recipe, shlex.split(command)[4:] if "--set" in command else (), variables)
    elif command.startswith("jumok lab"):
        assert given["name"] in {lab.name for lab in LABS}
    elif command.startswith("jumok explain --lecture"):
        assert worked(given["model"])[0].trace is not None  # --save needs one


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ("jumok lok MODEL", "lok"),
        ("jumok look MODEL --svae page.html", "No such option"),
        ("jumok lab a b c", "unexpected extra argument"),
    ],
)
def test_the_parser_refuses_what_does_not_exist(wrong: str, why: str) -> None:
    with pytest.raises(Exception, match=why):
        parsed(wrong)


def test_both_languages_have_the_same_sections() -> None:
    """A Korean link goes to the section in the place of the English one."""
    linked = {target.partition("#")[0] for line in LINES for target in line.docs if "#" in target}
    for name in linked:
        pair = [ROOT / "docs" / name, ROOT / "docs" / name.replace(".md", ".ko.md")]
        found = [len(DOCUMENT.HEADING.findall(path.read_text("utf-8"))) for path in pair]
        assert found[0] == found[1], name


def test_every_slip_is_named() -> None:
    named = {line.slip for line in LINES if line.slip}
    assert named == {*DOCUMENT.slips()}


def test_what_to_read_on_is_what_the_code_names() -> None:
    texts = (path.read_text("utf-8") for path in SOURCE.parent.rglob("*.py"))
    code = " ".join(" ".join(text.split()) for text in texts)
    assert LECTURES.readings
    for each in LECTURES.readings:
        assert each.source in code
        for place in re.findall(r"\d{3}:\d+", each.en):
            assert any(line.at.startswith(place) for line in LINES), place
            assert place in each.ko


def test_the_references_are_those_of_the_note() -> None:
    assert len(LECTURES.references) == 11
    for language, path in (("en", DOCUMENT.ENGLISH), ("ko", DOCUMENT.KOREAN)):
        written = path.read_text("utf-8")
        assert all(f"]({url})" in written for _, url in LECTURES.references), language
    if not NOTES.is_dir():
        pytest.skip("the lecture notes are not here: $JUMOK_LECTURES names their folder")
    (note,) = NOTES.glob("004_*")
    words = note.read_text("utf-8").splitlines()
    for at, (title, url) in enumerate(LECTURES.references, DOCUMENT.REFERENCES):
        assert f"[{title}]({url})" in words[at - 1]


def test_the_script_writes_both_pages(tmp_path: Path) -> None:
    """In a copy of the folders that it reads."""
    for name in ("docs", "web", "web/views"):
        (tmp_path / name).mkdir()
        for path in (ROOT / name).iterdir():
            if path.suffix in (".md", ".toml", ".py", ".js") and "lectures." not in path.name:
                (tmp_path / name / path.name).write_bytes(path.read_bytes())
    for name in ("lectures.py", "lectures.toml"):
        (tmp_path / "docs" / name).write_bytes((ROOT / "docs" / name).read_bytes())
    run = subprocess.run([sys.executable, str(tmp_path / "docs" / "lectures.py")], check=False)
    assert run.returncode == 0
    for page in (DOCUMENT.ENGLISH, DOCUMENT.KOREAN):
        assert (tmp_path / "docs" / page.name).read_bytes() == page.read_bytes()
