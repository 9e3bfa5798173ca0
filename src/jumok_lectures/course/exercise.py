"""An exercise: the right answer, the cases that it is tried on, and known wrong answers.

A wrong answer is recognized by what it computes: the known mistake whose outputs are the same on
most cases, the first failing one included, gives the hint.
Right values are enough, by torch, math or loops; gradients that differ are only mentioned.
"""

import contextlib
import re
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from jumok_lectures.text import Text, joined, same
from jumok_lectures.texts import Texts

T = Texts("course")


@dataclass(frozen=True)
class Failure:
    """Why a call gave nothing to compare.

    Attributes:
        details: the learner's own line, and advice; another answer with the same error is alike.
    """

    words: Text
    details: tuple[Text, ...] = field(default=(), compare=False)


Function = Callable[..., Tensor]
Mistake = Function | tuple[Function, ...]
"""A wrong answer, or several with one hint."""
Output = Tensor | Failure
"""What a function returned, or why there is nothing to compare."""
ADVICE = {
    "size_of_float": re.compile("got float|not float|'float' object cannot be interpreted"),
    "axis_out_of_range": re.compile("Dimension out of range|permute.* number of dimensions"),
}
"""Messages of Python and torch by the key of the advice in the file's table `error`."""


@dataclass(frozen=True)
class Case:
    """One call of a learner's function.

    Attributes:
        title: a key of the file's table `case`.
        expected: the notes' numbers, or those of another implementation; None: those of the right
            answer.
        tolerance: the largest difference from `expected`: half a unit of the last digit that a
            note gives.
    """

    title: str
    inputs: tuple[Tensor | int | None, ...]
    expected: Tensor | None = None
    tolerance: float = 1e-6


@dataclass(frozen=True)
class Exercise:
    """A function that the learner writes.

    Attributes:
        name: "00.softmax": of the chapter, and of the function.
        mistakes: known wrong answers by the key of their hint in the file's table `hint`.
        measures: the function only measures, so its gradients are of no use.
    """

    name: str
    right: Function
    cases: Callable[[], Sequence[Case]]
    mistakes: dict[str, Mistake]
    measures: bool = False

    def wrong(self) -> list[tuple[str, Function]]:
        """The known wrong answers, one by one, with the keys of their hints."""
        return [
            (hint, function)
            for hint, mistake in self.mistakes.items()
            for function in (mistake if isinstance(mistake, tuple) else (mistake,))
        ]


@dataclass(frozen=True)
class Question:
    """A number that the learner works out.

    Attributes:
        mistakes: wrong numbers by the key of their hint.
    """

    name: str
    right: float
    tolerance: float
    mistakes: dict[str, float]


@dataclass(frozen=True)
class Verdict:
    """Whether an answer is right, what is said about it, and the key of the hint that was given."""

    right: bool
    words: Text
    hint: str | None = None


def judge(exercise: Exercise | Question, answer: object) -> Verdict:
    """Tries an answer; `...`, as it is in the chapter, is none."""
    if answer is ...:
        return Verdict(False, T("unanswered"))
    if isinstance(exercise, Question):
        return _judge_number(exercise, answer)
    if not callable(answer):
        return Verdict(False, T("no_function", got=type(answer).__name__))
    cases = exercise.cases()
    wanted = [_expected(exercise, case) for case in cases]
    given = [_output(answer, case) for case in cases]
    failing = [
        number
        for number, case in enumerate(cases)
        if not _alike(given[number], wanted[number], case.tolerance)
    ]
    if not failing:
        if _same_gradients(exercise, answer, cases):
            return Verdict(True, T("right"))
        unused = [T("unused")] if exercise.measures else []
        return Verdict(True, joined([T("gradient"), *unused], " "))
    first = failing[0]
    hint = _recognized(exercise, cases, given, first)
    words = _difference(cases[first], given[first], wanted[first])
    if hint is not None:
        advice = T.chosen("hint", hint)
        words = Text(f"{advice.en}\n  {words.en}", f"{advice.ko}\n  {words.ko}")
    return Verdict(False, words, hint)


def _judge_number(question: Question, answer: object) -> Verdict:
    try:
        number = float(answer)  # type: ignore[arg-type]  # a learner's value may be anything
    except (TypeError, ValueError):
        return Verdict(False, T("no_number", got=type(answer).__name__))
    if abs(number - question.right) <= question.tolerance:
        return Verdict(True, T("right"))
    for hint, wrong in question.mistakes.items():
        if abs(number - wrong) <= question.tolerance:
            return Verdict(False, T.chosen("hint", hint), hint)
    return Verdict(False, T("wrong_number", got=f"{number:g}"))


def _expected(exercise: Exercise, case: Case) -> Tensor:
    return exercise.right(*case.inputs) if case.expected is None else case.expected


@contextlib.contextmanager
def _double() -> Iterator[None]:
    """New tensors have the precision of the cases, as torch.zeros(n) in a learner's function."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def _copied(inputs: Sequence[Tensor | int | None]) -> list[Tensor | int | None]:
    return [each.clone() if isinstance(each, Tensor) else each for each in inputs]


def _output(function: Callable[..., object], case: Case) -> Output:
    """What the function returns; its inputs are copies."""
    inputs = _copied(case.inputs)
    try:
        with _double():
            output = function(*inputs)
    except Exception as error:  # a learner's function may raise anything
        words = T("raised", error=f"{type(error).__name__}: {error}")
        return Failure(words, _details(error, inputs))
    for before, after in zip(case.inputs, inputs, strict=True):
        if not isinstance(before, Tensor) or not isinstance(after, Tensor):
            continue
        if not torch.equal(before, after):
            return Failure(T("changed"))
    if output is None:
        return Failure(T("nothing"))
    if not isinstance(output, Tensor | float | int):
        return Failure(T("no_tensor", got=type(output).__name__))
    return torch.as_tensor(output).detach()


def _details(error: Exception, inputs: Sequence[object]) -> tuple[Text, ...]:
    """The last line of the learner's file that ran, and advice on the error."""
    _, *frames = traceback.extract_tb(error.__traceback__)  # the first is the call of the function
    if not frames:  # the call itself failed: the function has other parameters
        return ()
    own = [each for each in frames if each.filename == frames[0].filename][-1]
    details = [T("line", line=own.line)] if own.line else []
    if isinstance(error, TypeError | AttributeError) and all(
        isinstance(each, Tensor) for each in inputs
    ):
        details.append(T("inputs"))
    details += [T.chosen("error", key) for key, found in ADVICE.items() if found.search(str(error))]
    return tuple(details)


def _alike(one: Output, other: Output, tolerance: float = 1e-6) -> bool:
    if not isinstance(one, Tensor) or not isinstance(other, Tensor):
        return isinstance(one, Failure) and one == other  # the same error
    if one.shape != other.shape:
        return False
    left, right = one.double(), other.double()
    return torch.allclose(left, right, rtol=1e-5, atol=tolerance, equal_nan=True)


def _recognized(
    exercise: Exercise, cases: Sequence[Case], given: Sequence[Output], first: int
) -> str | None:
    """The mistake that computes the same: on the first failing case, and on the most of all."""
    best, most = None, 0
    for hint, mistake in exercise.wrong():
        outputs = [_output(mistake, case) for case in cases]
        alike = [_alike(a, b) for a, b in zip(given, outputs, strict=True)]
        if alike[first] and sum(alike) > most:
            best, most = hint, sum(alike)
    return best


def _difference(case: Case, given: Output, wanted: Tensor) -> Text:
    """Where the output is wrong, in one sentence."""
    title = T.chosen("case", case.title)
    if isinstance(given, Failure):
        return joined((joined((title, given.words), ": "), *given.details), "\n  ")
    if given.shape != wanted.shape:
        got, expected = str(tuple(given.shape)), str(tuple(wanted.shape))
        return T("shape", case=title, got=got, expected=expected)
    apart = (given.double() - wanted.double()).abs()
    close = torch.isclose(
        given.double(), wanted.double(), rtol=1e-5, atol=case.tolerance, equal_nan=True
    )
    place = int((~close).flatten().nonzero()[0])
    index = [int(each) for each in torch.unravel_index(torch.tensor(place), apart.shape)]
    numbers = float(given.flatten()[place]), float(wanted.flatten()[place])
    digits = next(
        (each for each in (4, 8) if _written(numbers[0], each) != _written(numbers[1], each)), 16
    )
    own, right = (same(_written(each, digits)) for each in numbers)
    if not index:
        return T("number", case=title, got=own, expected=right)
    return T("value", case=title, place=same(str(index)), got=own, expected=right)


def _written(number: float, digits: int) -> str:
    return f"{number:.{digits}g}"


def _same_gradients(exercise: Exercise, answer: Function, cases: Sequence[Case]) -> bool:
    """Compares the gradients of all inputs of numbers, in the cases with random ones."""
    for case in cases:
        if case.title != "random":
            continue
        wanted = _gradients(exercise.right, case)
        try:
            given = _gradients(answer, case)
        except RuntimeError:  # of a tensor that the answer changes in place
            return False
        for right, own in zip(wanted, given, strict=True):
            if right is not None and (own is None or not _alike(own, right)):
                return False
    return True


def _gradients(function: Function, case: Case) -> list[Tensor | None]:
    inputs = [
        each.clone().requires_grad_()
        if isinstance(each, Tensor) and each.is_floating_point()
        else each
        for each in case.inputs
    ]
    with _double(), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # torch's, of numbers taken out of a tensor
        output = torch.as_tensor(function(*inputs))
    if output.requires_grad:
        mixed = torch.linspace(-1, 2, output.numel(), dtype=output.dtype).reshape(output.shape)
        (output * mixed).sum().backward()
    return [each.grad if isinstance(each, Tensor) else None for each in inputs]
