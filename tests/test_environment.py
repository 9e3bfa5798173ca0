"""What jumok reads from the environment, and where it is said."""

import ast
import re
from pathlib import Path

import pytest

from jumok import environment
from jumok.errors import ConfigError

SOURCE = Path(environment.__file__).parent


def test_the_cache_is_where_the_variables_say(monkeypatch, tmp_path):
    for name in ("JUMOK_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert environment.cache_folder() == tmp_path / ".cache" / "jumok"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative/is/invalid")
    assert environment.cache_folder() == tmp_path / ".cache" / "jumok"
    monkeypatch.setenv("XDG_CACHE_HOME", "/var/caches")
    assert environment.cache_folder() == Path("/var/caches/jumok")
    monkeypatch.setenv("JUMOK_CACHE", "/mine")
    assert environment.cache_folder() == Path("/mine")


@pytest.mark.parametrize(("given", "expected"), [("", None), ("0", None), ("3", 3), ("1024", 1024)])
def test_threads_are_a_number_of_cores(monkeypatch, given, expected):
    monkeypatch.setenv("JUMOK_THREADS", given)
    assert environment.threads() == expected


@pytest.mark.parametrize("given", ["two", "-1", "1025", "9" * 5000, "²"])
def test_threads_that_are_none_are_refused(monkeypatch, given):
    monkeypatch.setenv("JUMOK_THREADS", given)
    with pytest.raises(ConfigError, match="JUMOK_THREADS"):
        environment.threads()


def strings() -> set[str]:
    """Every string of the code that is the name of a variable of jumok's, or is asked for."""
    found = set()
    for path in SOURCE.rglob("*.py"):
        tree = ast.parse(path.read_text("utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and re.fullmatch(r"JUMOK_[A-Z_]+", str(node.value)):
                found.add(str(node.value))
            if isinstance(node, ast.Call) and ast.unparse(node.func).startswith("os.environ."):
                found.add(ast.literal_eval(node.args[0]))
            if isinstance(node, ast.Subscript) and ast.unparse(node.value) == "os.environ":
                found.add(ast.literal_eval(node.slice))
    return found


def test_the_table_holds_what_the_code_reads():
    assert strings() == set(environment.VARIABLES)


@pytest.mark.parametrize("page", ["cli.md", "cli.ko.md"])
def test_the_documented_table_is_the_same(page):
    text = (SOURCE.parents[1] / "docs" / page).read_text("utf-8")
    rows = re.findall(r"(?m)^\| `([A-Z_]+)` \|", text)
    assert rows == list(environment.VARIABLES)
