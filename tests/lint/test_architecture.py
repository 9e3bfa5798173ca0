"""The house stands as designed: who imports whom, how long things are, what is never done."""

import ast
import functools
import gc
import re
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from importlinter.cli import EXIT_STATUS_SUCCESS, lint_imports

import jumok

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "jumok"
MODULES = sorted((ROOT / "src").rglob("*.py"))
EVERYTHING = sorted(
    path
    for folder in ("src", "tests", "benchmarks", "web")
    for path in (ROOT / folder).rglob("*")
    if path.suffix in (".py", ".c", ".h", ".js")
    and not any(part.startswith(".") for part in path.relative_to(ROOT).parts)
)

MOST_LINES, MOST_FUNCTION_LINES, MOST_PARAMETERS, MOST_NAMES = 400, 60, 10, 27
MOST_SILENT_LINES = 6
MOST_FILES = 19  # in one folder

Function = ast.FunctionDef | ast.AsyncFunctionDef


@functools.cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def place(path: Path, node: ast.AST | None = None) -> str:
    return f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 1)}"


@functools.cache
def functions(path: Path) -> list[Function]:
    return [node for node in ast.walk(tree(path)) if isinstance(node, Function)]


def is_verb(path: Path) -> bool:
    return bool({"cli", "verbs"} & {*path.relative_to(ROOT).parts})


@pytest.fixture(scope="module", autouse=True)
def trees_are_forgotten() -> Iterator[None]:
    """At the end: there are a million nodes, which no garbage collection need look through."""
    gc.disable()
    yield
    tree.cache_clear()
    functions.cache_clear()
    gc.enable()


@pytest.fixture(scope="module")
def called() -> list[tuple[str, str]]:
    """Every call in jumok: its place, and the name of what is called, such as "torch.load"."""
    return [
        (place(path, node), ast.unparse(node.func))
        for path in MODULES
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Call)
    ]


def test_imports_keep_their_contracts(monkeypatch):
    monkeypatch.chdir(ROOT)
    assert lint_imports(config_filename="pyproject.toml", no_cache=True) == EXIT_STATUS_SUCCESS


def test_files_stay_short():
    lines = {place(path): len(path.read_text("utf-8").splitlines()) for path in EVERYTHING}
    assert {name: count for name, count in lines.items() if count > MOST_LINES} == {}


def test_functions_stay_short():
    """A verb of the command line names an option a line in its signature, which does not count."""
    long = [
        place(path, node)
        for path in EVERYTHING
        if path.suffix == ".py"
        for node in functions(path)
        if length(node) - is_verb(path) * signature(node) > MOST_FUNCTION_LINES
    ]
    assert long == []


def test_functions_take_few_parameters():
    """Exempt are verbs, which have one for each option, and kernels of GPUs."""
    many = []
    for path in MODULES:
        for node in functions(path):
            given = node.args
            names = [each.arg for each in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
            count = len(names) - (names[:1] in (["self"], ["cls"]))
            kernel = any("triton.jit" in ast.unparse(each) for each in node.decorator_list)
            if count > MOST_PARAMETERS and not (is_verb(path) or kernel):
                many.append(place(path, node))
    assert many == []


def test_parameters_are_not_handed_on_unnamed():
    """No **options through layers, and no **vars(batch): who is given what can be read."""
    unnamed = [
        place(path, call)
        for path in MODULES
        for node in functions(path)
        for call in ast.walk(node)
        if isinstance(call, ast.Call)
        for keyword in call.keywords
        if keyword.arg is None and hands_on(keyword.value, node.args.kwarg)
    ]
    assert unnamed == []


def hands_on(value: ast.expr, options: ast.arg | None) -> bool:
    """Whether `**value` is the function's own `**options`, or the variables of some object."""
    text = ast.unparse(value)
    annotation = None if options is None else options.annotation
    if annotation is not None and ast.unparse(annotation).endswith(".kwargs"):
        return False  # of a decorator: types follow its ParamSpec
    return (options is not None and text == options.arg) or text.startswith("vars(")


def test_modules_say_what_they_are_for():
    silent = [
        path for path in MODULES if path.read_text("utf-8") and not ast.get_docstring(tree(path))
    ]
    assert [place(path) for path in silent] == []


def test_every_public_class_has_a_name_of_its_own():
    """Who reads `Segment` need not ask which of two it is."""
    owners: dict[str, list[str]] = {}
    for path in MODULES:
        for node in tree(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                owners.setdefault(node.name, []).append(place(path, node))
    assert {name: places for name, places in owners.items() if len(places) > 1} == {}


def promised() -> set[str]:
    """The methods that protocols describe, once for all that keep to them."""
    classes = [
        node for path in MODULES for node in tree(path).body if isinstance(node, ast.ClassDef)
    ]
    protocols = [node for node in classes if "Protocol" in " ".join(map(ast.unparse, node.bases))]
    return {each.name for node in protocols for each in node.body if isinstance(each, Function)}


def public(body: list[ast.stmt], described: set[str]) -> Iterator[Function | ast.ClassDef]:
    """Public functions and classes, and methods that need more words than their own lines."""
    for node in body:
        if isinstance(node, Function | ast.ClassDef) and not node.name.startswith("_"):
            if "overload" in map(ast.unparse, node.decorator_list):
                continue  # the implementation says it
            yield node
            if isinstance(node, ast.ClassDef):
                for each in public(node.body, described):
                    if length(each) > MOST_SILENT_LINES and each.name not in described:
                        yield each


def signature(node: Function) -> int:
    return node.body[0].lineno - node.lineno


def length(node: Function | ast.ClassDef) -> int:
    return node.end_lineno - node.lineno + 1


def test_public_functions_and_classes_say_what_they_do():
    described = promised()
    silent = [
        f"{place(path, node)} {node.name}"
        for path in MODULES
        for node in public(tree(path).body, described)
        if not ast.get_docstring(node)
    ]
    assert silent == []


@pytest.mark.parametrize(
    "forbidden",
    [
        "hasattr",
        "eval",
        "exec",
        "torch.load",
        "torch.save",
        "pickle.load",
        "pickle.loads",
        "np.load",
    ],
)
def test_nothing_calls(forbidden, called):
    """hasattr hides a type; the others run what they read, or write what others must run."""
    weights_only = {"torch.load": ["interop/containers.py"]}  # of others, without code
    found = [where for where, name in called if name == forbidden]
    assert [where.rpartition("jumok/")[2].split(":")[0] for where in found] == weights_only.get(
        forbidden, []
    )


def test_nothing_imports_pickle():
    for path in MODULES:
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = [alias.name for alias in node.names] + [getattr(node, "module", "") or ""]
                assert not {"pickle", "dill", "cloudpickle", "marshal", "shelve"} & set(names), path


def test_environment_is_read_by_the_command_line_and_one_module():
    readers = [
        place(path, node)
        for path in MODULES
        if not is_verb(path) and path != SOURCE / "environment.py"
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Attribute) and node.attr in ("environ", "getenv", "expandvars")
    ]
    assert readers == []


def test_no_module_changes_its_own_globals():
    found = [
        place(path, node)
        for path in MODULES
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Global)
    ]
    assert found == []


def test_nothing_is_left_to_do_later():
    late = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
    for path in EVERYTHING:
        if path.suffix == ".py" and late.search(path.read_text("utf-8")):
            with tokenize.open(path) as file:
                for token in tokenize.generate_tokens(file.readline):
                    found = token.type == tokenize.COMMENT and late.search(token.string)
                    assert not found, f"{path}:{token.start[0]}"


def test_tests_mirror_the_house():
    packages = [*SOURCE.iterdir(), ROOT / "src" / "smallworld", ROOT / "src" / "jumok_lectures"]
    rooms = {path.name for path in packages if (path / "__init__.py").exists()}
    tested = {path.parent.name for path in (ROOT / "tests").glob("*/test_*.py")}
    assert rooms - tested == set()


def test_public_surface_is_small():
    assert len(jumok.__all__) <= MOST_NAMES


def test_no_room_is_crowded() -> None:
    rooms = Counter(path.parent for path in MODULES if path.name != "__init__.py")
    assert {room: count for room, count in rooms.items() if count > MOST_FILES} == {}
