"""All exercises by name, and the right answers as text."""

import inspect
from importlib import import_module

from jumok_lectures.course.exercise import Exercise, Question

CHAPTERS = tuple(f"{number:02}" for number in range(16))


def of_chapter(number: str) -> tuple[Exercise | Question, ...]:
    """The exercises of a chapter, in its order."""
    module = import_module(f"jumok_lectures.course.exercises.chapter_{number}")
    exercises: tuple[Exercise | Question, ...] = module.EXERCISES
    return exercises


EXERCISES = {each.name: each for number in CHAPTERS for each in of_chapter(number)}


def solutions(number: str) -> str:
    """The right answers to a chapter's exercises, as a file that `jumok course check` accepts."""
    parts = ["import math\n\nimport torch\nfrom torch import Tensor\n"]
    for each in of_chapter(number):
        if isinstance(each, Question):
            parts.append(f"{each.name.partition('.')[2]} = {each.right!r}\n")
        else:
            parts.append(inspect.getsource(each.right))
    return "\n\n".join(parts)
