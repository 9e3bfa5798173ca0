"""The wheel of this system, installed where no compiler is: its own libraries run, at every level.

The libraries are compiled by zig, as `make wheels` compiles them.
"""

import json
import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from jumok.kernels.libraries.building import features
from jumok.kernels.libraries.levels import CONTENTS, machine, permitted, system
from tests.systems.test_ordinary_module import transformer

ROOT = Path(__file__).parents[2]
# The Python of an environment with zig, hatchling and auditwheel; `make test` installs it.
BUILDER = Path(os.environ.get("WHEEL_PYTHON") or Path(sys.prefix) / "wheels" / "bin" / "python")
NO_COMPILER = "/nowhere"
LINES = "the cat saw a dog\nThe dog slept.\n"

LEAST = 20
PARITY = (
    *("-k", "post-greedy or pre-beam or shares_its_batch or fewer_bits or agrees or twins"),
    *("tests/engine/test_transformer.py", "tests/kernels/test_residual.py"),
)


def ran(command: list[str | Path], **more: object) -> subprocess.CompletedProcess[str]:
    words = [str(word) for word in command]
    return subprocess.run(words, capture_output=True, text=True, check=False, **more)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not BUILDER.exists():
        pytest.skip("make test installs what builds wheels")
    folder = tmp_path_factory.mktemp("wheel")
    command = [BUILDER, "-m", "hatchling", "build", "-t", "wheel", "-d", folder]
    done = ran(command, cwd=ROOT, env={**os.environ, "JUMOK_WHEEL": system()})
    assert done.returncode == 0, done.stdout + done.stderr
    [built] = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel; PyTorch and the others are those of this one.

    All tests share the bytecode that the first command writes into it.
    """
    home = tmp_path_factory.mktemp("installed") / "environment"
    inside = Path(sysconfig.get_path("purelib", vars={"base": str(home)}))
    done = ran([sys.executable, "-m", "venv", "--without-pip", home])
    assert done.returncode == 0, done.stderr
    with zipfile.ZipFile(wheel) as archive:  # what pip does, but for its records
        archive.extractall(inside)
    (inside / "borrowed.pth").write_text(sysconfig.get_path("purelib"), "utf-8")
    return home / "bin" / "python"


@pytest.fixture
def alone(tmp_path: Path) -> dict[str, str]:
    """The variables of a machine without a compiler, on which jumok never ran."""
    return {"PATH": NO_COMPILER, "HOME": str(tmp_path), "OMP_NUM_THREADS": "1"}


def test_the_wheel_says_for_which_system_it_is(wheel: Path) -> None:
    assert wheel.name.split("-")[2:4] == ["py3", "none"]
    with zipfile.ZipFile(wheel) as archive:
        contents = json.loads(archive.read(f"jumok/kernels/shipped/{CONTENTS}"))
        names = {Path(name).name for name in archive.namelist() if "/shipped/" in name}
        [metadata] = [name for name in archive.namelist() if name.endswith(".dist-info/WHEEL")]
        assert "Root-Is-Purelib: false" in archive.read(metadata).decode()
    assert contents["system"] == system()
    assert names == {*contents["libraries"], CONTENTS}


@pytest.mark.skipif(not system().startswith("linux"), reason="auditwheel is for Linux")
def test_the_wheel_of_linux_keeps_to_what_its_name_says(wheel: Path) -> None:
    """glibc 2.28 is of 2018. (auditwheel reads the versions of the symbols in the libraries.)"""
    said = ran([BUILDER.with_name("auditwheel"), "show", wheel]).stdout
    assert 'platform tag: "manylinux_2_27' in said or 'platform tag: "manylinux_2_28' in said, said


def test_it_translates_without_a_compiler(installed: Path, alone, tmp_path: Path) -> None:
    model = transformer(tmp_path / "model")
    here = {"cwd": tmp_path, "env": alone, "input": LINES}
    told = ran([installed, "-m", "jumok", "doctor", "--json"], **here)
    checks = {each["name"]: each for each in json.loads(told.stdout)["checks"]}
    best = permitted(features(), None, machine())[0].name
    for library in ("engine", "kernels", "texts"):
        assert checks[library]["found"] == f"level {best}, shipped with jumok"
    assert checks["compiler"]["found"].startswith("none")
    assert not list((tmp_path / ".cache").glob("**/*.so"))
    native, torch = (
        ran([installed, "-m", "jumok", "translate", model, "--beam", "2", *engine], **here)
        for engine in (("--engine", "native"), ("--engine", "torch"))
    )
    assert native.returncode == 0, native.stderr
    assert native.stdout == torch.stdout
    assert native.stdout.count("\n") == LINES.count("\n")
    assert "no C compiler" not in ran([installed, "-m", "jumok", "info", model], **here).stdout


def test_the_content_of_the_wheel_reaches_the_command(installed: Path, alone, tmp_path) -> None:
    """The labs and the worked numbers are attached by entry points."""
    here = {"cwd": tmp_path, "env": alone}
    assert "scale " in ran([installed, "-m", "jumok", "lab"], **here).stdout
    worked = ran([installed, "-m", "jumok", "explain", "--lecture", "002:15"], **here)
    assert "agree" in worked.stdout, worked.stderr
    ran(
        [installed, "-m", "jumok", "smallworld", "world", "--pairs", "5", "--held-out", "2"], **here
    )
    assert len((tmp_path / "world" / "train.en").read_text("utf-8").splitlines()) == 5


def test_it_translates_where_torch_cannot_be_imported(installed: Path, alone, tmp_path) -> None:
    model = transformer(tmp_path / "model")
    blocked = tmp_path / "blocked" / "torch"
    blocked.mkdir(parents=True)
    (blocked / "__init__.py").write_text("raise ImportError('there is no torch here')")
    here = {"cwd": tmp_path, "input": LINES}
    command = [installed, "-m", "jumok", "translate", model, "--beam", "2"]
    without = ran(command, **here, env={**alone, "PYTHONPATH": str(blocked.parent)})
    assert without.returncode == 0, without.stderr
    assert without.stdout == ran([*command, "--engine", "torch"], **here, env=alone).stdout
    told = ran(
        [installed, "-m", "jumok", "doctor"], env={**alone, "PYTHONPATH": str(blocked.parent)}
    )
    assert told.returncode == 1
    assert "BROKEN  PyTorch" in told.stdout
    assert "there is no torch here" in told.stdout


def test_the_compiler_of_ziglang_is_used_where_there_is_no_other(installed, alone, tmp_path):
    if not BUILDER.exists():
        pytest.skip("make test installs ziglang")
    find = "import ziglang, pathlib; print(pathlib.Path(ziglang.__file__).parent)"
    (tmp_path / "packages").mkdir()
    (tmp_path / "packages" / "ziglang").symlink_to(ran([BUILDER, "-c", find]).stdout.strip())
    code = (
        "from jumok.kernels.libraries.building import PROBE, loaded; "
        "found = loaded('probe', PROBE); print(found.origin, found.level, found.place)"
    )
    variables = {**alone, "JUMOK_CPU": "native", "PYTHONPATH": str(tmp_path / "packages")}
    found = ran([installed, "-c", code], env=variables)
    assert found.stdout == "compiled native ziglang\n", found.stderr
    [kept] = (tmp_path / ".cache" / "jumok").iterdir()
    assert kept.name.startswith("probe-")


@pytest.mark.parametrize("level", [each.name for each in permitted(features(), None, machine())])
def test_every_level_computes_what_torch_computes(installed: Path, alone, level: str) -> None:
    """The tests of the engine and of a kernel, with the wheel's libraries of this level."""
    ask = (
        "from jumok.engine.structures import SOURCES; "
        "from jumok.kernels.libraries.building import loaded; "
        "print(loaded('engine', SOURCES).place)"
    )
    alone = {**alone, "JUMOK_CPU": level}
    found = ran([installed, "-c", ask], env=alone)
    assert found.stdout.strip().endswith(f"shipped/engine-{level}.so"), found.stderr
    done = ran([installed, "-m", "pytest", "-n", "0", "-rs", *PARITY], cwd=ROOT, env=alone)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "needs a C compiler" not in done.stdout
    assert int(done.stdout.split(" passed")[0].split()[-1]) >= LEAST
