"""`check` of a notebook and of `jumok course check`: an answer, and what is said about it."""

import contextlib
import io
import json
import runpy
import traceback
from pathlib import Path
from tempfile import TemporaryDirectory

from jumok.environment import chosen_language
from jumok.errors import ConfigError, Location
from jumok_lectures.course.catalog import EXERCISES, of_chapter
from jumok_lectures.course.exercise import Verdict, judge
from jumok_lectures.text import Text
from jumok_lectures.texts import Texts

T = Texts("course")


def check(name: str, answer: object) -> None:
    """Prints whether an answer is right, in $JUMOK_LANG or in both languages.

    Args:
        name: "00.softmax".
        answer: the function, or the number that is asked for.

    Raises:
        ConfigError: there is no such exercise.
    """
    exercise = EXERCISES.get(name)
    if exercise is None:
        raise ConfigError(
            "there is no such exercise.", expected=", ".join(EXERCISES), got=repr(name)
        )
    verdict = judge(exercise, answer)
    print(f"{'✓' if verdict.right else '✗'} {name}: {_written(verdict.words)}")


def _written(words: Text) -> str:
    given = chosen_language()
    if given is None:
        return f"{words.ko}\n  {words.en}"
    return words.ko if given == "ko" else words.en


def check_file(chapter: str, file: Path) -> dict[str, Verdict]:
    """The verdicts on the answers in a notebook or a Python file, which is run.

    Raises:
        ConfigError: the file is not there, is damaged, or its code fails.
    """
    verdicts = {}
    with TemporaryDirectory() as folder:  # until all is judged: errors show lines of the code
        names = _run(file, Path(folder) / "answers.py")
        for exercise in of_chapter(chapter):
            own = exercise.name.partition(".")[2]
            found = names.get(own)
            verdicts[exercise.name] = (
                judge(exercise, found) if own in names else Verdict(False, T("absent", name=own))
            )
    return verdicts


def _run(file: Path, script: Path) -> dict[str, object]:
    """The names that the file's code, copied to a script, defines; what it prints is not shown."""
    try:
        content = file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            "the answers cannot be read.", got=str(error), place=Location(file)
        ) from error
    code = _cells(content, file) if file.suffix == ".ipynb" else content
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            script.write_text(code, "utf-8")
            return runpy.run_path(str(script))
    except Exception as error:  # a learner's code may raise anything
        frames = traceback.extract_tb(error.__traceback__)
        own = [each.lineno for each in frames if Path(each.filename).name == "answers.py"]
        line = error.lineno if isinstance(error, SyntaxError) else own[-1]
        shown = line if file.suffix != ".ipynb" else None  # the cells are joined
        raise ConfigError(
            "the code of the answers fails.",
            got=f"{type(error).__name__}: {error}",
            do="run the file, or all cells of the notebook, and correct this first",
            place=Location(file, shown),
        ) from error


def _cells(content: str, file: Path) -> str:
    """The code of a notebook; commands of the shell and of Jupyter are left out."""
    try:
        cells = json.loads(content)["cells"]
        codes = ["".join(each["source"]) for each in cells if each["cell_type"] == "code"]
    except (ValueError, KeyError, TypeError) as error:
        raise ConfigError(
            "this is no notebook.", expected="a file of Jupyter (.ipynb)", place=Location(file)
        ) from error
    lines = "\n\n".join(codes).splitlines()
    return "\n".join("" if line.startswith(("%", "!")) else line for line in lines)
