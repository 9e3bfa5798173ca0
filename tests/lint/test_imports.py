"""Imports: no circles, wherever they are, and torch before its parts."""

import ast
from pathlib import Path

import grimp

import jumok

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def test_modules_do_not_import_each_other_in_a_circle():
    """Whether at once, late, inside a function or for types alone."""
    graph = grimp.build_graph(
        "jumok", "jumok_lectures", "smallworld", exclude_type_checking_imports=False, cache_dir=None
    )
    imported = {
        module: {*graph.find_modules_directly_imported_by(module)} for module in graph.modules
    }
    while free := {module for module, others in imported.items() if not others & imported.keys()}:
        imported = {module: others for module, others in imported.items() if module not in free}
    circle = imported.keys() & set().union(*imported.values())
    assert not circle, sorted(circle)


def test_torch_is_imported_before_its_parts():
    """Two threads that import torch and a part of it first would wait for each other, and Python
    would then give one of them half a module. `import torch.nn` takes the part's lock first;
    `from torch import nn` takes torch's.
    """
    wrong = []
    for file in sorted(Path(jumok.__path__[0]).rglob("*.py")):
        tree = ast.parse(file.read_text("utf-8"))
        at_once = _first_of_torch(tree)
        blocks = [tree] if at_once else [n for n in ast.walk(tree) if isinstance(n, FUNCTIONS)]
        firsts = {_first_of_torch(block) for block in blocks} - {None, "torch"}
        wrong += [f"{file.name}: {first}" for first in firsts]
    assert wrong == []


def _first_of_torch(block: ast.Module | ast.FunctionDef | ast.AsyncFunctionDef) -> str | None:
    for node in block.body:
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        for name in names:
            if name.split(".")[0] == "torch":
                return name
    return None
