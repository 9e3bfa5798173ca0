"""Commands of other packages are entry points, as docs/extending.md says."""

import math
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from jumok.cli.late_verbs import attached
from tests.cli.calls import call

DOCS = Path(__file__).parents[2] / "docs"
Install = Callable[[str, str], None]


def documented(file: str) -> tuple[str, str]:
    """The code of the section, and its entry point."""
    section = (DOCS / file).read_text("utf-8").partition("`entropy MODEL TEXT`")[2]
    [entry, *_] = re.findall(r"^    (entropy = .*)", section, re.MULTILINE)
    return section.split("```")[1].removeprefix("python\n"), entry.replace('"', "")


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Makes a distribution of one module, as pip leaves it: the module and its entry points."""
    monkeypatch.syspath_prepend(tmp_path)

    def distribution(code: str, entries: str) -> None:
        (tmp_path / "my_package.py").write_text(code, "utf-8")
        folder = tmp_path / "my_package-1.0.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: my-package\nVersion: 1.0\n")
        (folder / "entry_points.txt").write_text(f"[jumok.verbs]\n{entries}\n")
        monkeypatch.delitem(sys.modules, "my_package", raising=False)
        attached.cache_clear()

    yield distribution
    attached.cache_clear()


@pytest.mark.parametrize("file", ["extending.md", "extending.ko.md"])
def test_the_documented_command_is_one_of_jumok(install: Install, tiny_bundle: Path, file: str):
    install(*documented(file))
    done = call("entropy", tiny_bundle, "the cat")
    assert done.exit_code == 0, done.output
    values = [float(line.split("\t")[2]) for line in done.stdout.splitlines()]
    assert values
    assert all(0 <= value <= math.log(64) for value in values)
    panel = call("--help").stdout.partition("Look inside")[2]
    assert re.search(r"entropy +Print the entropy", panel.partition("╰")[0])


def test_several_commands_are_a_group(install: Install):
    install(
        "import typer\n"
        "app = typer.Typer(help='Mine.')\n"
        "@app.command()\ndef one(): typer.echo('first')\n"
        "@app.command()\ndef two(): typer.echo('second')\n",
        "mine = my_package:app",
    )
    assert call("mine", "two").stdout == "second\n"
    assert re.search(r"mine +Mine\.", call("--help").stdout)


def test_no_command_of_jumok_is_replaced(install: Install, tiny_bundle: Path):
    install("raise SystemExit('run')", "info = my_package:app")
    assert call("info", tiny_bundle).exit_code == 0
    assert call("--help").exit_code == 0


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import nowhere", "of the package my_package cannot be loaded.\n  got:      No module"),
        ("", "of the package my_package cannot be loaded.\n  got:      module 'my_package'"),
        ("app = 3", "expected: a typer.Typer as the entry point of the group jumok.verbs\n"),
    ],
)
def test_a_command_that_cannot_be_loaded_is_named(install: Install, code: str, said: str):
    install(code, "mine = my_package:app")
    assert said in str(call("mine").exception)


def test_what_no_package_has_is_unknown():
    done = call("entropy")
    assert done.exit_code == 2
    assert "No such command 'entropy'" in done.output
