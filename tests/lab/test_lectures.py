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
from jumok.lab.catalog import LABS
from jumok.lab.worked.catalog import worked
from tests.lab.test_quotes import NOTES
from tests.lab.test_report import HANGUL

ROOT = Path(__file__).parents[2]
SCRIPT, SOURCE = ROOT / "docs" / "lectures.py", ROOT / "src" / "jumok"
LENGTHS = {"000": 242, "001": 393, "002": 88, "003": 71, "004": 353}  # lines of the notes
STATED = {  # the 101 places of the notes that state something of their own
    "000": "11-16 18-24 28-30 30 34-37 38-39 46 48-71 73-91 93-111 100 115 117-132 140-144 146-159 "
    "163-168 174 182-190 194-209 211-217 219-230 239-241 242",
    "001": "4-6 18-22 24-26 39-54 49 57-67 82-92 96-113 125-134 136-144 167-174 192-204 228-230 "
    "232 246-248 254-259 261-268 292-298 305-317 322 332 336-350 368 370-388 392",
    "002": "2-5 9-10 11 12-13 14-19 17 20-21 24-26 27-29 30-31 33-36 39 40 41-47 48-59 62-68 70-81 "
    "84-86 88",
    "003": "5 6-8 10-14 12 16-24 26-30 32-46 50 51-56 61",
    "004": "27-35 31-32 33 39-45 56-62 69-72 87-101 107-112 113 119-133 140-145 150-164 168-201 "
    "206-213 221-223 230-233 238-263 268-279 285-290 298 308-315 320-324 328-332 340-352",
}


def script() -> ModuleType:
    """docs/lectures.py, which is in no package."""
    spec = importlib.util.spec_from_file_location("docs_lectures", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # its dataclasses look for it
    spec.loader.exec_module(module)
    return module


DOCUMENT = script()
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


def test_every_statement_of_the_notes_is_there() -> None:
    places = [line.at for line in LINES]
    assert len(set(places)) == len(places)
    stated = [f"{note}:{each}" for note, listed in STATED.items() for each in listed.split()]
    assert len(stated) == 101
    missing = set(stated) - {place.replace("113, 201", "113") for place in places}
    assert not missing
    for note, length in LENGTHS.items():
        own = [line for line in LINES if line.lecture == note]
        first = [DOCUMENT.numbers(line.lines)[0] for line in own]
        assert first == sorted(first), note
        for line in own:
            covered = DOCUMENT.numbers(line.lines) + DOCUMENT.numbers(line.also)
            assert max(covered) <= length, line.at
            assert line.quoted in covered, line.at


def test_quotes_are_verbatim_and_no_line_is_left_out() -> None:
    if not NOTES.is_dir():
        pytest.skip("the lecture notes are not here: $JUMOK_LECTURES names their folder")
    for name, length in LENGTHS.items():
        (note,) = NOTES.glob(f"{name}_*")
        words = note.read_text("utf-8").splitlines()
        assert len(words) == length
        covered = set(DOCUMENT.numbers(LECTURES.apart[name]))
        for line in (line for line in LINES if line.lecture == name):
            assert line.quote in words[line.quoted - 1], line.at
            covered |= {*DOCUMENT.numbers(line.lines), *DOCUMENT.numbers(line.also)}
        stating = {i for i, text in enumerate(words, 1) if re.sub("<br>|---", "", text).strip()}
        assert stating <= covered, name


@pytest.mark.parametrize("line", LINES, ids=lambda line: line.at)
def test_a_line_has_an_answer_in_both_languages(line) -> None:
    assert line.worked or line.labs or line.run or line.views or line.code or line.docs or line.slip
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
    code = " ".join(" ".join(path.read_text("utf-8").split()) for path in SOURCE.rglob("*.py"))
    assert LECTURES.readings
    for each in LECTURES.readings:
        assert each.source in code
        for place in re.findall(r"\d{3}:\d+", each.en):
            assert any(line.at.startswith(place) for line in LINES), place
            assert place in each.ko


def test_the_script_writes_both_pages(tmp_path: Path) -> None:
    """In a copy of the folders that it reads."""
    for name in ("docs", "web"):
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
