"""The chapters of the course: both languages, their code, their figures, and `jumok course`."""

import ast
import contextlib
import io
import itertools
import json
import re
import shlex
from pathlib import Path

import nbformat
import pytest
from typer.testing import CliRunner

from jumok.cli.main import app
from jumok.errors import ConfigError
from jumok_lectures.catalog import LABS
from jumok_lectures.course.catalog import CHAPTERS, EXERCISES, solutions
from jumok_lectures.course.chapters import (
    FENCE,
    INSTALL,
    Chapter,
    chapters,
    find,
    home,
    notebook,
)
from tests.jumok_lectures.test_lectures import load_script, parsed
from tests.jumok_lectures.test_quotes import NOTES
from tests.jumok_lectures.test_report import HANGUL

ALL = chapters()
LANGUAGES = ("en", "ko")
QUOTE = re.compile(r"^> “(.+)” \((\d{3}):(\d+)\)$", re.MULTILINE)
HEADING = re.compile(r"^##? ", re.MULTILINE)
COMMANDS = re.compile(r"^```bash\n(.*?)^```\n", re.DOTALL | re.MULTILINE)
DEMO = "demo/smallworld-en-ko/model"
MOVING = sorted((home() / "figures").glob("*-moving.svg"))
each_chapter = pytest.mark.parametrize("chapter", ALL, ids=lambda each: each.number)


def bare(code: str) -> str:
    """Code without its comments and docstrings, which are in the chapter's language."""
    tree = ast.parse(code)
    for each in ast.walk(tree):
        if isinstance(each, ast.FunctionDef) and ast.get_docstring(each) is not None:
            each.body.pop(0)
    return ast.dump(tree)


def written_docstring(code: str, name: str) -> str | None:
    """The docstring of a function."""
    [function] = [each for each in ast.parse(code).body if getattr(each, "name", "") == name]
    return ast.get_docstring(function)


def called(*words: str) -> tuple[int, str]:
    """The exit code and the output of `jumok course WORDS`."""
    done = CliRunner().invoke(app, ["course", *words])
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.output


def test_every_chapter_has_exercises_and_every_exercise_a_chapter():
    assert tuple(each.number for each in ALL) == CHAPTERS
    for chapter in ALL:
        asked = re.findall(r'^check\("([\w.]+)"', "\n".join(chapter.code("en")), re.MULTILINE)
        assert asked == [name for name in EXERCISES if name.startswith(chapter.number)]


@each_chapter
def test_both_languages_have_the_same_parts(chapter):
    english, korean = (FENCE.sub("", chapter.text(language)) for language in LANGUAGES)
    assert (
        [bare(cell) for cell in chapter.code("en")]
        == [bare(cell) for cell in chapter.code("ko")]
        != []
    )
    for part in (QUOTE, HEADING, COMMANDS):
        assert part.findall(english) == part.findall(korean)
    for part in (r"\(figures/([\w.]+)\)", r"<!-- lab: ([\w-]+) -->", r"^- ", r"^\d\. "):
        assert re.findall(part, english, re.M) == re.findall(part, korean, re.M), part
    assert len(HEADING.findall(english)) == 8
    assert HANGUL.search(chapter.title("ko"))
    assert not HANGUL.search(chapter.title("en"))
    assert f"({chapter.name}.ko.md)" in english
    assert f"({chapter.name}.md)" in korean


@each_chapter
def test_quotes_are_the_notes_own_words(chapter):
    quotes = QUOTE.findall(chapter.text("en"))
    assert quotes
    if not NOTES.is_dir():
        pytest.skip("the lecture notes are not here: $JUMOK_LECTURES names their folder")
    for words, note, line in quotes:
        [file] = NOTES.glob(f"{note}_*")
        assert words in file.read_text("utf-8").splitlines()[int(line) - 1]


@each_chapter
def test_the_code_runs(chapter, monkeypatch):
    monkeypatch.setenv("JUMOK_LANG", "en")
    names: dict[str, object] = {}
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        for number, cell in enumerate(chapter.code("en")):
            exec(compile(cell, f"{chapter.name}, cell {number}", "exec"), names)
    verdicts = [line for line in printed.getvalue().splitlines() if line.startswith("✗")]
    exercises = [name for name in EXERCISES if name.startswith(chapter.number)]
    assert [line.split()[1].rstrip(":") for line in verdicts] == exercises
    assert all("not answered yet" in line or "not written yet" in line for line in verdicts)


@each_chapter
def test_its_commands_and_labs_exist(chapter):
    [block] = COMMANDS.findall(chapter.text("en"))
    for command in block.splitlines():
        if not command.endswith("--help"):
            parsed(command)
    labs = re.findall(r"<!-- lab: ([\w-]+) -->", chapter.text("en"))
    assert labs
    assert {*labs} <= {lab.name for lab in LABS}


@each_chapter
def test_its_explanations_are_printed(chapter, tiny_bundle):
    [block] = COMMANDS.findall(chapter.text("en"))
    for command in block.splitlines():
        # The tiny model's tokens are shorter than words: a row is given by its number.
        other = {DEMO: str(tiny_bundle), "student": "2"}
        words = [other.get(each, each) for each in shlex.split(command)]
        if words[1] == "explain":
            done = CliRunner().invoke(app, words[1:])
            assert done.exit_code == 0, (command, done.output, done.exception)


def test_verdicts_and_figures_are_up_to_date():
    old = [
        path.name
        for script in ("course", "diagrams")
        for path, text in load_script(script).files().items()
        if path.read_text("utf-8") != text
    ]
    assert not old, f"run: python docs/course.py; python docs/diagrams.py ({old})"


@pytest.mark.parametrize("moving", MOVING, ids=lambda each: each.stem)
def test_a_figure_moves_only_on_a_screen_and_where_motion_is_wanted(moving):
    text = moving.read_text("utf-8")
    [style] = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    assert style.startswith("@media screen and (prefers-reduced-motion: no-preference) {")
    depths = list(itertools.accumulate({"{": 1, "}": -1}.get(each, 0) for each in style))
    first = style.index("{")
    assert depths.index(0, first) == len(style) - 1  # all rules are inside
    assert "<animate" not in text
    names = re.findall(r"\.(\w+) {animation: \1 ", style)
    assert names
    assert set(names) == {*re.findall(r"@keyframes (\w+)", style)}
    assert set(names) == {*re.findall(r'class="(\w+)"', text)}
    for language in LANGUAGES:
        assert f"](figures/{moving.name})" in find(moving.name[:2]).text(language)


@each_chapter
@pytest.mark.parametrize("language", LANGUAGES)
def test_a_notebook_is_valid_and_whole(chapter: Chapter, language):
    read = nbformat.reads(notebook(chapter, language), as_version=4)
    nbformat.validate(read)
    install, *code = [cell.source for cell in read.cells if cell.cell_type == "code"]
    assert install == INSTALL.format(language=language) == read.cells[0].source
    assert code == [cell.strip("\n") for cell in chapter.code(language)]
    figures = [name for cell in read.cells for name in cell.get("attachments", {})]
    assert figures == [f"{chapter.number}.svg"]
    text = "".join(cell.source for cell in read.cells if cell.cell_type == "markdown")
    assert re.findall(r"!\[[^\]]*\]\(([^)]*)\)", text) == [f"attachment:{name}" for name in figures]
    assert not re.findall(r"\]\((?!https:|attachment:)([^)]*)\)", text)


def test_the_command_lists_the_chapters():
    code, output = called("--lang", "ko")
    assert code == 0
    assert output.splitlines() == [chapter.title("ko") for chapter in ALL]


def test_from_opening_to_a_solved_chapter(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    chapter = find("0")
    assert called("open", "00", "--lang", "ko") == (0, f"{chapter.name}.ipynb\n")
    file = Path(f"{chapter.name}.ipynb")
    code, output = called("check", "00", "--lang", "ko")
    assert code == 1
    assert output.count("✗") == 3
    assert called("--lang", "ko", "check", "00") == (code, output)
    with pytest.raises(ConfigError, match="perhaps with your answers"):
        called("open", "00")

    contents = json.loads(file.read_text("utf-8"))
    answers = {
        "cell_type": "code",
        "metadata": {},
        "source": ["%pip list\n", solutions("00", "ko")],
    }
    contents["cells"].append(answers)
    file.write_text(json.dumps(contents), "utf-8")
    code, output = called("check", "00")
    assert code == 0
    assert output.splitlines() == [
        "✓ 00.machines: right.",
        "✓ 00.softmax: right.",
        "✓ 00.attention: right.",
    ]


@pytest.mark.parametrize("language", LANGUAGES)
def test_solutions_are_printed(language):
    code, output = called("solution", "07", "--lang", language)
    assert code == 0
    assert called("--lang", language, "solution", "07") == (code, output)
    assert "def causal_mask(length: int) -> Tensor:" in output
    asked = find("07").code(language)[-1]
    for name in ("causal_mask", "masked_softmax"):
        assert written_docstring(output, name) == written_docstring(asked, name)
    assert bool(HANGUL.search(output)) == (language == "ko")


def test_an_answer_that_is_not_in_the_file_is_named(tmp_path):
    file = tmp_path / "answers.py"
    file.write_text("machines = 0.12\n", "utf-8")
    code, output = called("check", "00", str(file))
    assert code == 1
    assert "✓ 00.machines" in output
    assert "✗ 00.softmax: softmax is not defined in the file." in output


def test_an_unknown_chapter_is_refused():
    with pytest.raises(ConfigError, match="there is no such chapter"):
        called("open", "77")


def test_the_wheel_has_the_chapters():
    """The wheel's build puts the folder where `home` looks first."""
    root = Path(__file__).parents[2]
    line = '"docs/course" = "jumok_lectures/course/pages"'
    assert line in (root / "pyproject.toml").read_text("utf-8")
    assert home() == root / "docs" / "course"  # of a checkout
