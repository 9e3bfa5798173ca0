"""Counts what architecture decays by: local imports, `Any`, crowded rooms, long functions.

    python -m benchmarks.house

Import cycles and class names that occur twice are not counted here: tests/test_architecture.py
refuses them.
"""

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "jumok"
Function = ast.FunctionDef | ast.AsyncFunctionDef


def functions(tree: ast.Module) -> Iterator[Function]:
    return (node for node in ast.walk(tree) if isinstance(node, Function))


def local_imports(tree: ast.Module) -> list[str]:
    """The modules that are imported inside functions."""
    found: dict[ast.AST, str] = {}
    for function in functions(tree):
        for node in ast.walk(function):
            if isinstance(node, ast.Import):
                found[node] = node.names[0].name
            elif isinstance(node, ast.ImportFrom):
                found[node] = node.module or ""
    return list(found.values())


def body_length(function: Function) -> int:
    """The lines below the signature."""
    return (function.end_lineno or 0) - function.body[0].lineno + 1


def main() -> None:
    trees = {file: ast.parse(file.read_text("utf-8")) for file in sorted(SOURCE.rglob("*.py"))}
    local = [name for tree in trees.values() for name in local_imports(tree)]
    rooms = Counter(file.parent for file in trees if file.name != "__init__.py")
    room, most = rooms.most_common(1)[0]
    counts = {
        "files": len(trees),
        "imports inside functions": len(local),
        "of these jumok's own": sum(name.startswith("jumok") for name in local),
        "Any": sum(
            isinstance(node, ast.Name) and node.id == "Any"
            for tree in trees.values()
            for node in ast.walk(tree)
        ),
        f"most files in a room ({room.relative_to(SOURCE)})": most,
        "longest function, without its signature": max(
            body_length(function) for tree in trees.values() for function in functions(tree)
        ),
    }
    for name, count in counts.items():
        print(f"{name}: {count:,}")


if __name__ == "__main__":
    main()
