"""The sentences of errors in the code, by ast: an f-string is a template with {}."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
ERRORS = {
    *("JumokError", "DataError", "ConfigError", "ModelError", "BundleError", "TrainingError"),
    "Obstacle",  # why a model cannot be exported
}
PARTS = ("what", "expected", "got", "do")


def template(node: ast.AST) -> list[str]:
    """The texts that an expression can be, {} for what is not known; none: another expression."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [node.value]
    if isinstance(node, ast.JoinedStr):
        return [
            "".join(
                getattr(part, "value", "") if isinstance(part, ast.Constant) else "{}"
                for part in node.values
            )
        ]
    if isinstance(node, ast.IfExp):
        return template(node.body) + template(node.orelse)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return [
            left + right
            for left in template(node.left) or ["{}"]
            for right in template(node.right) or ["{}"]
        ]
    return []


def trees() -> Iterator[tuple[str, ast.Module]]:
    """Every file of the code, by its path below src/."""
    for file in sorted((ROOT / "src").rglob("*.py")):
        yield str(file.relative_to(ROOT / "src")), ast.parse(file.read_text("utf-8"))


def texts() -> set[str]:
    """Every text in the code, also such as becomes a part of another."""
    return {each for _, tree in trees() for node in ast.walk(tree) for each in template(node)}


def said_by_errors() -> dict[str, str]:
    """The texts in the calls of errors and of what makes them, with their file."""
    found = {}
    for name, tree in trees():
        makers = ERRORS | ({"ValueError"} if name.startswith("jumok/config/") else set())
        for call, scope in _calls(tree, makers):
            parts = [*call.args[:1], *(each.value for each in call.keywords if each.arg in PARTS)]
            for part in parts:
                for each in _resolved(part, scope):
                    found.setdefault(each, name)
    return found


def _calls(
    tree: ast.AST, makers: set[str], scope: ast.AST | None = None
) -> Iterator[tuple[ast.Call, ast.AST]]:
    """The calls of what makes errors, with the function around each."""
    for node in ast.iter_child_nodes(tree):
        inner = node if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else scope or tree
        if isinstance(node, ast.Call) and getattr(node.func, "id", None) in makers:
            yield node, inner
        yield from _calls(node, makers, inner)


def _resolved(part: ast.AST, scope: ast.AST) -> list[str]:
    """The texts of a part, also where it is a name that the function gives a text."""
    if not isinstance(part, ast.Name):
        return template(part)
    found = []
    for node in ast.walk(scope):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                pairs = [(target, node.value)]
                if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                    pairs = list(zip(target.elts, node.value.elts, strict=False))
                for own, value in pairs:
                    if isinstance(own, ast.Name) and own.id == part.id:
                        found += template(value)
    return found


def has_words(text: str) -> bool:
    """Whether there is a word to translate in it: not only commands, keys, options and names."""
    text = re.sub(r"\bjumok [a-z]+|pip install [^,;]+|python -m \S+|--[a-z-]+(=\S+)?", " ", text)
    text = re.sub(r"[\w.{}\[\]]+ ?<?= ?\S+|\S*[/_.]\w\S*|\w+[=:]\S+", " ", text)
    return re.search(r"(?<![\w{.-])[a-z]{2,}(?![\w}=-])", text) is not None
