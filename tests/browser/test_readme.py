"""Every command of the READMEs and of docs/start.md is run, in order, as it stands there.

Three things are changed for the clock's sake: trainings stop after three steps, corpora are small,
and torch is imported once for all commands.
"""

import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from jumok.plot.paper import hangul_font
from tests.ready import ready

ROOT = Path(__file__).parents[2]
SHORTER = {
    "jumok train": "--set training.steps=3 --set validation.every=3 "
    "--set validation.decode_pairs=3",
    "jumok train smallworld-en-ko": "--set data.smallworld.pairs=500 --set tokenizer.size=1000 "
    "--set tokenizer.character_coverage=0.98",
    "jumok smallworld": "--pairs 2000 --held-out 5",
}
"""By how a command begins: what is added to it. Of repeated options the last one counts."""
# tests/browser/test_wheel.py installs jumok, and tests/cli/test_demo.py runs the demo.
RUN_BY_HAND = ("pip install", "jumok demo")
PAIRS = [("README.md", "README.ko.md"), ("docs/start.md", "docs/start.ko.md")]

needs_hangul = pytest.mark.skipif(
    hangul_font() is None,
    reason="the README draws figures with Hangul, and no font here has it: apt install fonts-nanum",
)
MEASURED = ("benchmarks.md", "benchmarks/serving.md")
PAGES = "https://github.com/jumok/jumok/blob/main/"
PICTURES = "https://raw.githubusercontent.com/jumok/jumok/main/"


def blocks(readme: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", (ROOT / readme).read_text(), re.DOTALL)


def lines(readme: str, language: str) -> list[str]:
    """Without comments, which are in the README's own language."""
    there = "".join(blocks(readme, language)).splitlines()
    return [line.partition("#")[0].rstrip() for line in there]


def commands(readme: str) -> list[str]:
    return lines(readme, "bash")


@pytest.mark.parametrize(("english", "korean"), PAIRS)
def test_both_languages_give_the_same_commands(english, korean):
    assert commands(english) == commands(korean)
    assert lines(english, "python") == lines(korean, "python")


@pytest.mark.parametrize("readme", ["README.md", "README.ko.md"])
def test_links_lead_somewhere_from_everywhere(readme):
    """The page on PyPI has no files beside it; what is linked is in this checkout."""
    text = (ROOT / readme).read_text("utf-8")
    links = re.findall(r"\]\(([^)]+)\)|(?m:^\[[^]]+\]: (\S+)$)", text)
    links = ["".join(link) for link in links]
    for link in links:
        place = link.removeprefix(PAGES).removeprefix(PICTURES)
        assert place != link, link
        assert (ROOT / place.partition("#")[0]).is_file()
    assert len(links) > 5


@pytest.mark.parametrize("readme", ["README.md", "README.ko.md"])
def test_speeds_are_those_of_the_benchmarks(readme):
    """Of each row of the table, every number stands in the measured tables."""
    measured = "".join((ROOT / "docs" / page).read_text("utf-8") for page in MEASURED)
    rows = re.findall(r"^\|[^|]+(?:\|[ *\d,–]*){6}\|$", (ROOT / readme).read_text("utf-8"), re.M)
    numbers = [number for row in rows for number in re.findall(r"\d+,\d+|\b\d{3}\b", row)]
    assert len(numbers) == 17
    cells = set(re.findall(r"\| \**([\d,]+)\** (?=\|)", measured))
    assert set(numbers) <= cells


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


def run(command: list[str] | str, folder: Path, programs: Path) -> subprocess.CompletedProcess[str]:
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "PATH": path},
        shell=isinstance(command, str),
        capture_output=True,
        text=True,
        check=False,
    )


@needs_hangul
@pytest.mark.parametrize("page", [english for english, _ in PAIRS])
def test_every_command_of_the_page_works_and_then_its_python(page, folder: Path):
    with ready() as programs:
        assert run("jumok info nowhere", folder, programs).returncode == 2
        for command in commands(page):
            if command.startswith(RUN_BY_HAND):
                continue
            more = [added for begins, added in SHORTER.items() if command.startswith(begins)]
            command = " ".join([command, *more])
            result = run(command, folder, programs)
            assert result.returncode == 0, f"{command}\n{result.stdout}\n{result.stderr}"
    assert len((folder / "test.out").read_text().splitlines()) == 5
    for block in blocks(page, "python"):  # of the model that the commands have made
        result = run([sys.executable, "-c", block], folder, Path(sys.executable).parent)
        assert result.returncode == 0, f"{shlex.quote(block)}\n{result.stderr}"


def test_the_extras_that_are_named_are_those_of_the_package():
    """pip only warns of an extra that there is not."""
    known = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    installed = [each for each in commands("docs/start.md") if each.startswith("pip install")]
    named = re.findall(r"jumok\[([\w,]+)\]", "".join(installed))
    assert named
    for extra in ",".join(named).split(","):
        assert extra in known["optional-dependencies"], extra
