"""What modules import, and when: at once, late (jumok/late.py), inside a function, for types."""

import ast
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import grimp

from tests.test_architecture import MODULES, functions, place, tree

MOST_LOCAL_IMPORTS = 10  # in all of src


def imports_within(node: ast.AST) -> list[ast.Import | ast.ImportFrom]:
    return [each for each in ast.walk(node) if isinstance(each, ast.Import | ast.ImportFrom)]


def test_imports_stand_at_the_top_of_their_file() -> None:
    """What starts slowly, or may be missing, is a late import: see jumok/late.py."""
    inside = {
        place(path, found)
        for path in MODULES
        for function in functions(path)
        for found in imports_within(function)
    }
    assert len(inside) <= MOST_LOCAL_IMPORTS, sorted(inside)


def late_names(path: Path) -> Iterator[str]:
    """The modules that a file imports late."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.With) and "late_imports(" in ast.unparse(node.items[0]):
            for found in imports_within(node):
                base = f"{found.module}." if isinstance(found, ast.ImportFrom) else ""
                yield from (f"{base}{each.name}" for each in found.names)


def test_late_imports_name_modules() -> None:
    """Of `from a import b` a late import cannot tell whether b is one without importing a."""
    names = {name: path for path in MODULES for name in late_names(path)}
    assert len(names) > 50
    installed = (name for name in names if find_spec(name.split(".")[0]) is not None)
    missing = sorted(name for name in installed if find_spec(name) is None)
    assert not missing, missing


def test_modules_do_not_import_each_other_in_a_circle():
    """Whether at once, late, inside a function or for types alone."""
    graph = grimp.build_graph("jumok", exclude_type_checking_imports=False, cache_dir=None)
    imported = {
        module: {*graph.find_modules_directly_imported_by(module)} for module in graph.modules
    }
    while free := {module for module, others in imported.items() if not others & imported.keys()}:
        imported = {module: others for module, others in imported.items() if module not in free}
    circle = imported.keys() & set().union(*imported.values())
    assert not circle, sorted(circle)
