"""All exercises by name, and the right answers as text."""

import ast
import inspect
from importlib import import_module

from jumok.environment import Language
from jumok_lectures.course.chapters import find
from jumok_lectures.course.exercise import Exercise, Question

CHAPTERS = tuple(f"{number:02}" for number in range(16))


def of_chapter(number: str) -> tuple[Exercise | Question, ...]:
    """The exercises of a chapter, in its order."""
    module = import_module(f"jumok_lectures.course.exercises.chapter_{number}")
    exercises: tuple[Exercise | Question, ...] = module.EXERCISES
    return exercises


EXERCISES = {each.name: each for number in CHAPTERS for each in of_chapter(number)}


def solutions(number: str, language: Language) -> str:
    """The right answers to a chapter's exercises, as a file that `jumok course check` accepts.

    The docstrings are those of the chapter.
    """
    asked = _documented("\n\n".join(find(number).code(language)))
    parts = ["import math\n\nimport torch\nfrom torch import Tensor\n"]
    for each in of_chapter(number):
        if isinstance(each, Question):
            parts.append(f"{each.name.partition('.')[2]} = {each.right!r}\n")
        else:
            source = inspect.getsource(each.right)
            [(name, own)] = _documented(source).items()
            parts.append(source.replace(own, asked[name]))
    return "\n\n".join(parts)


def _documented(code: str) -> dict[str, str]:
    """The docstrings of a code's functions, as they are written; of two of a name, the last."""
    lines = code.splitlines(keepends=True)
    return {
        each.name: "".join(lines[each.body[0].lineno - 1 : each.body[0].end_lineno])
        for each in ast.parse(code).body
        if isinstance(each, ast.FunctionDef) and ast.get_docstring(each) is not None
    }
