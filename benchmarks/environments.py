"""One virtual environment a peer, with exact versions (requirements/NAME.txt), made by uv.

The files are whole freezes, so a run next year installs what was measured. torch comes from the
folder of wheels in UV_FIND_LINKS or PIP_FIND_LINKS where one is set, else from the registry.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from benchmarks.errors import BenchmarkError

FOLDER = Path(__file__).parent
OURS = "jumok"
OUR_COMMAND: tuple[str, ...] = (sys.executable, "-m", "jumok")
"""The command of our own environment."""


def python_of(name: str) -> Path:
    """The interpreter of a peer's environment, made now if it is missing or out of date.

    Our own environment is the one that runs the benchmarks.
    """
    if name == OURS:
        return Path(sys.executable)
    wanted = _requirements(name).read_text()
    folder = FOLDER / ".envs" / name
    stamp = folder / "requirements.txt"
    if not stamp.exists() or stamp.read_text() != wanted:
        _make(name, folder)
        stamp.write_text(wanted)
    return folder / "bin" / "python"


def version_of(name: str, package: str) -> str:
    """The version of a package that a peer's environment is pinned to."""
    for line in _requirements(name).read_text().splitlines():
        pinned, _, number = line.partition("==")
        if pinned == package:
            return number
    raise BenchmarkError(f"{_requirements(name)} does not pin {package}")


def _requirements(name: str) -> Path:
    return FOLDER / "requirements" / f"{name}.txt"


def _make(name: str, folder: Path) -> None:
    uv = shutil.which("uv", path=f"{Path(sys.executable).parent}:{os.environ.get('PATH', '')}")
    if uv is None:
        raise BenchmarkError("uv is not there; `make bench` installs it, or: pip install uv")
    print(f"making the environment of {name} ...", file=sys.stderr)
    environment = dict(os.environ)
    environment.setdefault("UV_FIND_LINKS", os.environ.get("PIP_FIND_LINKS", ""))
    python = folder / "bin" / "python"
    commands: tuple[list[str | Path], ...] = (
        [uv, "venv", "--quiet", "--clear", "--python", sys.executable, folder],
        [uv, "pip", "install", "--quiet", "--python", python, "-r", _requirements(name)],
    )
    for command in commands:
        done = subprocess.run(command, env=environment, check=False)
        if done.returncode != 0:
            raise BenchmarkError(f"uv could not make {folder}: see its message above")
