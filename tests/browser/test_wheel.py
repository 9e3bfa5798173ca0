"""The wheel, installed as pip installs it, in every Python that is supported and installed here.

PyTorch and the other dependencies are large: in the Python of this very test they are borrowed from
it, and a whole journey is made. In other Pythons what starts without PyTorch is tried, with the
small dependencies from the package index; all of it is compiled.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

pytestmark = pytest.mark.nightly

ROOT = Path(__file__).parents[2]
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
# What the command line needs to start; the rest is imported when a verb needs it.
SMALL = ("typer", "rich", "pydantic")
SHORT = [
    *("--set", "training.steps=3", "--set", "validation.every=3"),
    *("--set", "data.smallworld.pairs=500", "--set", "validation.decode_pairs=3"),
    *("--set", "tokenizer.size=1000", "--set", "tokenizer.character_coverage=0.98"),
]


def ok(command: list[str | Path], **more: object) -> str:
    done = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, check=False, **more
    )  # fmt: skip
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def uv() -> str:
    found = shutil.which(
        "uv", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    )
    if found is None:
        pytest.skip("uv is not installed")
    return found


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    done = subprocess.run(
        [uv(), "build", "--wheel", "--out-dir", folder, ROOT],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode and "error sending request" in done.stderr:
        pytest.skip("the package index is out of reach")
    assert done.returncode == 0, done.stderr
    (built,) = folder.glob("*.whl")
    return built


def python_of(version: str) -> str:
    """The interpreter of this version, wherever it is installed; nothing is downloaded."""
    command = [uv(), "python", "find", "--no-python-downloads", "--system", version]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    pyenv = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
    if found.returncode == 0:
        return found.stdout.strip()
    if not pyenv:
        pytest.skip(f"Python {version} is not installed")
    return str(pyenv[-1])


def installed(wheel: Path, python: str, home: Path, dependencies: bool) -> Path:
    """A fresh environment with the wheel; its `bin`."""
    ok([uv(), "venv", "--python", python, home])
    inside = home / "bin" / "python"
    ok([uv(), "pip", "install", "--python", inside, "--no-deps", wheel])
    if dependencies:
        ok([uv(), "pip", "install", "--python", inside, *SMALL])
    return home / "bin"


@pytest.mark.parametrize("version", PYTHONS)
def test_the_command_starts_in_every_python(wheel: Path, tmp_path: Path, version: str):
    programs = installed(wheel, python_of(version), tmp_path / "env", dependencies=True)
    ok([programs / "python", "-W", "error", "-m", "compileall", "-q", "-f", tmp_path / "env/lib"])
    code = "import sys, jumok; print(jumok.__version__, dir(jumok)[0], sys.version_info[:2])"
    major, minor = version.split(".")
    said = ok([programs / "python", "-W", "error", "-c", code], cwd=tmp_path)
    assert said.split(" ", 1)[1] == f"Config ({major}, {minor})\n"
    assert "Usage: jumok " in ok([programs / "jumok", "--help"], cwd=tmp_path)
    assert "smallworld-en-ko" in ok([programs / "python", "-m", "jumok", "recipes"], cwd=tmp_path)


def test_a_whole_journey_from_the_wheel_without_a_compiler(wheel: Path, tmp_path: Path):
    programs = installed(wheel, sys.executable, tmp_path / "env", dependencies=False)
    inside = sysconfig.get_path("purelib", vars={"base": str(tmp_path / "env")})
    (Path(inside) / "borrowed.pth").write_text(sysconfig.get_path("purelib"), "utf-8")
    home = {"PATH": str(programs), "HOME": str(tmp_path), "OMP_NUM_THREADS": "1"}
    here = {"cwd": tmp_path, "env": home}
    code = "import jumok; print(jumok.__file__)"
    assert ok([programs / "python", "-c", code], **here).startswith(str(tmp_path))
    done = subprocess.run(
        ["jumok", "train", "smallworld-en-ko", *SHORT],
        capture_output=True, text=True, check=False, executable=programs / "jumok", **here,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "no C compiler: training is about 1.7 times slower" in done.stderr
    jumok = programs / "jumok"
    model = "runs/smallworld-en-ko/model"
    (tmp_path / "in").write_text("The cat saw a dog.\n", "utf-8")
    assert ok([jumok, "translate", model, "in", "--beam", "1"], **here).count("\n") == 1
    ok([jumok, "look", model, "The cat saw a dog.", "--save", "page.html"], **here)
    assert "<html" in (tmp_path / "page.html").read_text("utf-8")
    assert "no C compiler" in ok([jumok, "info", model], **here)
