"""docs/adding.md: every addition is made to a copy of the code, and its commands run."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.extending.test_extending import TINY
from tests.training.conftest import write_corpus

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(
    r"`([\w/]+\.(?:py|js|toml))`(?:(?!`)[^\n]|\n(?!\n))*\n\n((?:```(?:python|javascript|diff)\n.*?```\n\n?)+)",
    re.DOTALL,
)
FENCE = re.compile(r"```(python|javascript|diff)\n(.*?)```", re.DOTALL)


def section(title: str) -> str:
    text = (ROOT / "docs" / "adding.md").read_text("utf-8")
    return text.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def apply(text: str, package: Path) -> int:
    """Makes the additions of a section; returns the number of files that it names."""
    named = BLOCK.findall(text)
    for name, fences in named:
        file = package.parents[1] / name if name.startswith("web/") else package / name
        for kind, code in FENCE.findall(fences):
            if kind != "diff":
                assert not file.exists()
                file.write_text(code, "utf-8")
            else:
                lines = code.splitlines()
                before = "\n".join(line[1:] for line in lines if line[0] in " -")
                after = "\n".join(line[1:] for line in lines if line[0] in " +")
                content = file.read_text("utf-8")
                assert content.count(before) == 1, f"{name}: {before}"
                file.write_text(content.replace(before, after), "utf-8")
    return len(named)


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """The package in a folder of its own."""
    package = tmp_path / "src" / "jumok"
    hidden = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "src" / "jumok", package, ignore=hidden)
    return package


def run(arguments: list[str | Path], package: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "jumok", *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": str(package.parent)}
    done = subprocess.run(
        command,
        cwd=package.parents[1],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done


def documented(text: str, package: Path, **names: Path) -> str:
    """The outputs of the commands of a section, with these files in place of capital words."""
    lines = re.findall(r"^    jumok (.*)$", text, re.MULTILINE)
    assert lines
    words = [[str(names.get(word, word)) for word in shlex.split(line)] for line in lines]
    return "".join(run(arguments, package).stdout for arguments in words)


def recipe(folder: Path) -> Path:
    write_corpus(folder)
    file = folder / "recipe.toml"
    tiny = TINY.format(plugin="", key="").replace('plugins = [""]\n', "")
    file.write_text(tiny, "utf-8")
    return file


def test_a_part_is_a_file_and_a_line(copied, tmp_path):
    text = section("A part")
    assert apply(text, copied) == 2
    documented(text, copied, RECIPE=recipe(tmp_path))
    info = run(["info", "runs/tiny/model", "--json"], copied).stdout
    assert '"dyt"' in info


def test_a_format_is_a_file_and_a_line(copied, tmp_path):
    text = section("A file format")
    assert apply(text, copied) == 2
    file = recipe(tmp_path)
    sides = [(tmp_path / f"rows.{end}").read_text("utf-8").splitlines() for end in ("en", "back")]
    rows = [" | ".join(pair) for pair in zip(*sides, strict=True)]
    (tmp_path / "pairs.bars").write_text("\n".join(rows), "utf-8")
    documented(text, copied, RECIPE=file)


def test_an_option_of_decoding_is_a_field_and_where_it_acts(copied, tmp_path, tiny_bundle):
    text = section("A decoding option")
    assert apply(text, copied) == 4
    (tmp_path / "sentence.txt").write_text("the cat sat\n", "utf-8")
    assert documented(text, copied, MODEL=tiny_bundle)
    for command in ("translate", "generate", "caption"):
        assert "--top-a" in run([command, "--help"], copied).stdout
