"""Measures the code itself: its weight, how its modules depend on each other, how many files a
command passes through, and how many places know one fact.

    python -m benchmarks.house [--model MODEL] [--source src]

The walks need a translation model; without `--model` one is trained for a few steps first.
`--source` is the folder of another checkout, to compare the two. Import cycles and class names
that occur twice are not counted here: tests/lint/test_architecture.py refuses them.
"""

import argparse
import ast
import re
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.walks import measured_walks

ROOT = Path(__file__).parents[1]
Function = ast.FunctionDef | ast.AsyncFunctionDef
Definition = Function | ast.ClassDef

FACTS = {
    "a score (bilinear, additive, latent)": ("bilinear", "additive", "latent"),
    "a norm (norm_kind)": ("norm_kind",),
    "an option of decoding (min_p)": ("min_p",),
}
"""The word that a file contains if it knows the fact; the largest count of a row is printed."""


@dataclass(frozen=True)
class Modules:
    """The parsed files of one or more packages.

    Attributes:
        trees: by path.
    """

    trees: Mapping[Path, ast.Module]
    texts: Mapping[Path, str] = field(repr=False)

    @classmethod
    def read(cls, folders: Sequence[Path]) -> "Modules":
        files = [file for folder in folders for file in sorted(folder.rglob("*.py"))]
        texts = {file: file.read_text("utf-8") for file in files}
        return cls({file: ast.parse(text) for file, text in texts.items()}, texts)

    def nodes(self) -> Iterator[ast.AST]:
        for tree in self.trees.values():
            yield from ast.walk(tree)

    def lines(self) -> int:
        return sum(text.count("\n") for text in self.texts.values())


def import_edges(modules: Modules, source: Path) -> set[tuple[str, str]]:
    """Pairs of modules of these packages of which the first imports the second, anywhere."""
    names = {
        ".".join(file.relative_to(source).with_suffix("").parts).removesuffix(".__init__"): file
        for file in modules.trees
    }
    edges: set[tuple[str, str]] = set()
    for name, file in names.items():
        for node in ast.walk(modules.trees[file]):
            if isinstance(node, ast.Import):
                targets = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module:
                full = [f"{node.module}.{alias.name}" for alias in node.names]
                targets = [each if each in names else node.module for each in full]
            else:
                continue
            edges.update((name, target) for target in targets if target in names)
    return edges


def shared_names(modules: Modules) -> tuple[int, int]:
    """Functions, classes and assigned names at top level: all, and those that several files own."""
    owners: dict[str, set[Path]] = defaultdict(set)
    for file, tree in modules.trees.items():
        for node in tree.body:
            if isinstance(node, Definition):
                owners[node.name].add(file)
            elif isinstance(node, ast.Assign):
                for target in node.targets:
                    if isinstance(target, ast.Name):
                        owners[target.id].add(file)
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                owners[node.target.id].add(file)
    return len(owners), sum(len(files) > 1 for files in owners.values())


def functions_that_assign(modules: Modules, name: str) -> int:
    """Functions in which a local variable or a parameter has this name."""
    return sum(
        any(
            (isinstance(part, ast.Name) and part.id == name and isinstance(part.ctx, ast.Store))
            or (isinstance(part, ast.arg) and part.arg == name)
            for part in ast.walk(node)
        )
        for node in modules.nodes()
        if isinstance(node, Function)
    )


def docstring_words(modules: Modules) -> int:
    documented = (node for node in modules.nodes() if isinstance(node, Definition | ast.Module))
    return sum(len((ast.get_docstring(node) or "").split()) for node in documented)


def private_imports(modules: Modules) -> int:
    """Imports of private names and modules of other packages."""
    count = 0
    for node in modules.nodes():
        if isinstance(node, ast.ImportFrom) and not (node.module or "").startswith("jumok"):
            parts = [*(node.module or "").split("."), *(alias.name for alias in node.names)]
            count += any(re.match(r"_(?!_)", part) is not None for part in parts)
    return count


def places_that_know(modules: Modules, words: Sequence[str]) -> int:
    """Files that contain the word; the largest count of several words."""
    return max(
        sum(re.search(rf"\b{word}\b", text) is not None for text in modules.texts.values())
        for word in words
    )


def longest_function(modules: Modules) -> int:
    """In lines, signature and docstring included."""
    return max(
        (node.end_lineno or 0) - node.lineno + 1
        for node in modules.nodes()
        if isinstance(node, Function)
    )


def counts(source: Path) -> dict[str, int | float]:
    """The measures that reading the code gives."""
    toolkit = Modules.read([source / "jumok"])
    packages = Modules.read([each for each in sorted(source.iterdir()) if each.is_dir()])
    tests = Modules.read([source.parent / "tests"])
    edges = import_edges(toolkit, source)
    rooms = Counter(file.parent for file in toolkit.trees if file.name != "__init__.py")
    names, shared = shared_names(toolkit)
    inside = [source / "jumok" / room for room in ("lab", "smallworld")]
    content = Modules.read([room for room in inside if room.exists()]).lines()
    return {
        "lines of the toolkit itself": toolkit.lines() - content,
        "lines of all packages": packages.lines(),
        "lines of tests": tests.lines(),
        "modules": len(toolkit.trees),
        "import edges": len(edges),
        "internal imports a module": round(len(edges) / len(toolkit.trees), 1),
        "names at top level": names,
        "of these with several owners": shared,
        "functions with a variable `found`": functions_that_assign(toolkit, "found"),
        "words in docstrings": docstring_words(toolkit),
        "most files in a folder": rooms.most_common(1)[0][1],
        "longest function": longest_function(toolkit),
        "`builtins.__import__` replaced": sum(
            "builtins.__import__ =" in text for text in toolkit.texts.values()
        ),
        "imports of private names of a dependency": private_imports(toolkit),
        **{
            f"files that know {fact}": places_that_know(toolkit, words)
            for fact, words in FACTS.items()
        },
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, help="a translation model, for the walks")
    parser.add_argument("--source", type=Path, default=ROOT / "src")
    arguments = parser.parse_args()
    for name, count in counts(arguments.source.resolve()).items():
        print(f"{name}: {count:,}")
    with tempfile.TemporaryDirectory() as folder:
        for walk in measured_walks(arguments.source.resolve(), arguments.model, Path(folder)):
            print(f"{walk.name}: {walk.files:,} files, {walk.hops:,} hops")


if __name__ == "__main__":
    main()
