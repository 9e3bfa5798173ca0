"""No text makes a pattern of the package work for long.

The work is counted in steps of a matcher, so that no clock decides; see `steps.py`.
"""

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import jumok
from jumok.systems.translation.kept.code import NO_WORDS
from jumok.systems.translation.kept.keeping import Keep, _same_number
from jumok.systems.translation.kept.numerals import _pattern
from jumok.systems.translation.terms.glossary import ATTACHING_SCRIPTS
from tests.fuzz.steps import Matcher, worst

ROOT = Path(jumok.__path__[0])
AT_ONE_PLACE = {"match", "fullmatch"}
USES = {"search", "finditer", "findall", "sub", "subn", "split", "compile"} | AT_ONE_PLACE
MOST = 2.2
"""Twice the text may be this much more work: 2 is linear, 4 quadratic."""

BUILT: dict[str, list[re.Pattern[str]]] = {
    "documents/markup.py": [re.compile(r"</script\s*>", re.IGNORECASE)],
    "documents/placing.py": [re.compile(re.escape("{name} %d"))],
    "plot/paper.py": [],  # reads a script of the package
    "systems/translation/terms/glossary.py": [re.compile(f"[{ATTACHING_SCRIPTS}]")],
    "systems/translation/kept/keeping.py": [
        *Keep().code,
        *Keep(NO_WORDS, usual=False).code,
        *map(_same_number, ("12", "1,000.5", "10:30", "2024-05-01", "1000000", "1.2.3", "007")),
        re.compile(r"[^\d\.]"),
    ],
    "systems/translation/kept/numerals.py": [_pattern("0"), _pattern("3")],
}
"""Examples of the patterns that functions build from what they are given."""


def modules() -> Iterator[tuple[str, ast.Module]]:
    for file in sorted(ROOT.rglob("*.py")):
        yield file.relative_to(ROOT).as_posix(), ast.parse(file.read_text("utf-8"))


def calls(tree: ast.AST) -> Iterator[ast.Call]:
    """The calls of `re` in functions and elsewhere."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="re"), attr=name)) if name in USES:
                yield node


def written(call: ast.Call) -> re.Pattern[Any] | None:
    """The pattern of a call that spells it out."""
    words = {word.arg: word.value for word in call.keywords if word.arg == "flags"}
    flags = [*words.values(), *(value for value in call.args[1:] if "re." in ast.unparse(value))]
    try:
        pattern = ast.literal_eval(call.args[0])
    except ValueError:
        return None
    return re.compile(pattern, eval(ast.unparse(flags[0]), {"re": re}) if flags else 0)


def uses_of(trees: dict[str, ast.Module]) -> dict[str, set[str]]:
    """The methods that are called on each name, anywhere; "" is any other use of it."""
    uses: dict[str, set[str]] = {}
    for tree in trees.values():
        methods: dict[int, str] = {}
        for node in ast.walk(tree):  # from outside in
            if isinstance(node, ast.Attribute):
                methods[id(node.value)] = node.attr
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                uses.setdefault(node.id, set()).add(methods.get(id(node), ""))
    return uses


def collected() -> dict[str, tuple[re.Pattern[Any], bool]]:
    """Every pattern of the package by its place, and whether it is only tried at one place."""
    trees = dict(modules())
    uses = uses_of(trees)
    patterns: dict[str, tuple[re.Pattern[Any], bool]] = {}
    built = set()
    for path, tree in trees.items():
        own = f"jumok.{path.removesuffix('.py').replace('/', '.')}".removesuffix(".__init__")
        top = {
            id(node): of
            for of in tree.body
            for node in ast.walk(of)
            if isinstance(of, ast.Assign | ast.AnnAssign)
        }
        for call in calls(tree):
            if id(call) not in top:
                pattern = written(call)
                once = isinstance(call.func, ast.Attribute) and call.func.attr in AT_ONE_PLACE
                if pattern is None:
                    built.add(path)
                else:
                    patterns[f"{path}:{call.lineno}"] = (pattern, once)
        if any(id(call) in top for call in calls(tree)):
            for name, value in vars(importlib.import_module(own)).items():
                for number, one in enumerate(value if isinstance(value, list | tuple) else [value]):
                    if isinstance(one, re.Pattern):
                        once = uses.get(name, {""}) <= AT_ONE_PLACE
                        patterns[f"{path}:{name}:{number}"] = (one, once)
    assert built == {*BUILT}, "state an example of each pattern that a function builds"
    for path, examples in BUILT.items():
        patterns |= {f"{path}:built:{n}": (one, False) for n, one in enumerate(examples)}
    return patterns


PATTERNS = collected()


@pytest.mark.parametrize("place", PATTERNS)
def test_twice_the_text_is_twice_the_work(place: str) -> None:
    pattern, once = PATTERNS[place]
    growth, text = worst(pattern, once)
    assert growth < MOST, f"{pattern.pattern!r} on {text}"


@pytest.mark.parametrize(
    ("pattern", "growth"),
    [
        (r"\s*(?:<!--.*?-->\s*)*<html", float("inf")),
        (r"(?:\"[^\"]*\"|[^()])*\)", float("inf")),
        (r"[\w.+-]+@", 4),
        (r"%\d*\d*s", 4),
        (r"<!--.*?-->", 4),
        (r"(?<!a)a+b", 1),
        (r"(?<![ab])(?:a|b)*+c|\w{1,4}x", 1),
    ],
)
def test_the_measure_tells_what_grows(pattern: str, growth: float) -> None:
    measured, _ = worst(re.compile(pattern, re.DOTALL), once=growth > 4)
    assert measured == pytest.approx(growth, rel=0.1)


@pytest.mark.parametrize("text", ["abcd", "aaab aab", "x\nx", "a12 3", "abcbcdd"])
@pytest.mark.parametrize(
    "pattern", [r"(a|ab)(?:c|bcd)*?d?", r"(?>a+)b|\ba{2,3}?(?!b)", r"^x$|(?<=a)\d*+", r"(?:a*)*x"]
)
def test_the_matcher_finds_what_re_finds(pattern: str, text: str) -> None:
    for flags in (0, re.MULTILINE):
        matcher = Matcher(pattern, flags)
        for at in range(len(text) + 1):
            expected = re.compile(pattern, flags).match(text, at)
            end = matcher.run(matcher.program, text, at)
            assert end == (expected.end() if expected else None)
