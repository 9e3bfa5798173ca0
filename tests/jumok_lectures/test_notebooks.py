"""The notebooks of the course, run by nbclient; the nightly ones install the wheel themselves.

PyTorch and the other dependencies are large: the fresh environment borrows each package of this one
but jumok, which the first cell of a notebook installs.
"""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import nbformat
import pytest

from jumok_lectures.course.catalog import EXERCISES
from jumok_lectures.course.chapters import Chapter, chapters, find, notebook

pytest.importorskip("nbclient", reason="needs the group dev of pyproject.toml")
pytest.importorskip("ipykernel", reason="needs the group dev of pyproject.toml")

ROOT = Path(__file__).parents[2]
OWN = ("jumok", "_jumok", "_editable_impl_jumok", "__editable__")
EXECUTE = """
import sys, nbclient, nbformat
book = nbformat.read(sys.argv[1], as_version=4)
nbclient.NotebookClient(book, timeout=300, kernel_name="python3").execute()
nbformat.write(book, sys.argv[1])
"""
NOTHING = {"en": ("not answered yet", "not written yet"), "ko": ("아직 답", "아직 쓰지")}


def executed(python: Path, chapter: Chapter, language: str, folder: Path, **more: str) -> list[str]:
    """What each cell of code printed, in the kernel of this Python."""
    file = folder / f"{chapter.name}.{language}.ipynb"
    file.write_text(notebook(chapter, language), "utf-8")
    # Jupyter's own settings and kernels of this machine are left out.
    here = {name: str(folder) for name in ("HOME", "IPYTHONDIR", "JUPYTER_CONFIG_DIR")}
    given = {"PATH": os.environ["PATH"], "JUPYTER_PATH": "", "OMP_NUM_THREADS": "1", **here, **more}
    done = subprocess.run(
        [python, "-c", EXECUTE, file],
        capture_output=True, text=True, check=False, cwd=folder, env=given,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    cells = [cell for cell in nbformat.read(file, as_version=4).cells if cell.cell_type == "code"]
    errors = [
        out.text for cell in cells for out in cell.outputs if out.get("name") == "stderr"
    ]  # of torch's and jumok's warnings, too
    assert errors == []
    return ["".join(out.text for out in cell.outputs if "text" in out) for cell in cells]


def unanswered(printed: list[str], chapter: Chapter, language: str) -> None:
    """The checks of the last cell asked for each answer, in the notebook's language."""
    lines = printed[-1].splitlines()
    names = [name for name in EXERCISES if name.startswith(chapter.number)]
    assert [line.partition(":")[0] for line in lines] == [f"✗ {name}" for name in names]
    assert all(any(words in line for words in NOTHING[language]) for line in lines), lines
    assert f"JUMOK_LANG={language}" in printed[0]


@pytest.mark.process
def test_a_notebook_runs_here(tmp_path: Path):
    chapter = find("00")
    source = {"PYTHONPATH": str(ROOT / "src"), "PIP_NO_INDEX": "1"}
    unanswered(executed(Path(sys.executable), chapter, "ko", tmp_path, **source), chapter, "ko")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the wheel."""
    builder = Path(os.environ.get("WHEEL_PYTHON") or Path(sys.prefix) / "wheels" / "bin" / "python")
    if not builder.exists():
        pytest.skip("make test installs what builds wheels")
    folder = tmp_path_factory.mktemp("dist")
    command = [builder, "-m", "hatchling", "build", "-t", "wheel", "-d", folder]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False,
        env={**os.environ, "JUMOK_WHEEL": "pure"},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture
def fresh(tmp_path: Path) -> Path:
    """The Python of an environment with every package but jumok."""
    home = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", home], check=True)
    inside = Path(sysconfig.get_path("purelib", vars={"base": str(home)}))
    for package in Path(sysconfig.get_path("purelib")).iterdir():
        if not package.name.startswith(OWN):
            (inside / package.name).symlink_to(package)
    return home / "bin" / "python"


@pytest.mark.nightly
@pytest.mark.process
@pytest.mark.parametrize("chapter", chapters(), ids=lambda each: each.number)
@pytest.mark.parametrize("language", ["en", "ko"])
def test_a_notebook_installs_the_wheel_and_runs(
    chapter: Chapter, language: str, wheel: Path, fresh: Path, tmp_path: Path
):
    absent = subprocess.run([fresh, "-I", "-c", "import jumok"], capture_output=True, check=False)
    assert b"No module named 'jumok'" in absent.stderr
    index = {"PIP_FIND_LINKS": str(wheel), "PIP_NO_INDEX": "1"}
    unanswered(executed(fresh, chapter, language, tmp_path, **index), chapter, language)
    code = "import jumok, jumok_lectures; print(jumok.__file__, jumok_lectures.__file__)"
    said = subprocess.run([fresh, "-I", "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.count(str(fresh.parents[1])) == 2
