"""`jumok doctor`: the real command, on machines that lack something."""

import importlib.util
import json
import shutil
import tomllib
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner, Result

import jumok
from jumok.cli import diagnosis
from jumok.cli.main import app
from jumok.kernels.libraries import building
from jumok.kernels.libraries.building import features
from jumok.kernels.libraries.compiler import compilers
from jumok.kernels.libraries.levels import machine, permitted
from tests.bundle.conftest import change

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def ordinary(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("JUMOK_CPU", "JUMOK_THREADS"):
        monkeypatch.delenv(name, raising=False)
    features()  # before PATH changes


def doctor(*options: str) -> Result:
    return CliRunner().invoke(app, ["doctor", *options])


def checks(code: int = 0) -> dict[str, dict[str, str]]:
    done = doctor("--json")
    assert done.exit_code == code, done.output
    found = json.loads(done.stdout)
    assert found["ok"] == (code == 0)
    return {each["name"]: each for each in found["checks"]}


def test_a_working_machine_is_a_table_and_exit_code_0() -> None:
    done = doctor()
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert "everything needed works" in lines[-1]
    names = [line.split()[1] for line in lines[:-1] if line.split()[0] in ("ok", "note")]
    compiled = ["engine", "kernels", "texts"]
    assert names[:7] == ["processor", *compiled, "compiler", "packages", "PyTorch"]
    assert names[-5:] == ["memory", "disk", "cache", "browser", "fonts"]
    assert len(lines) < 40


def test_without_a_compiler_it_says_what_runs_and_what_to_install(monkeypatch) -> None:
    monkeypatch.setenv("PATH", "")
    if compilers() or building.are_shipped():
        pytest.skip("there is another way to the libraries here")
    found = checks()
    otherwise = {
        "engine": "translation runs on PyTorch, slower",
        "kernels": "training runs on PyTorch, slower",
        "texts": "corpora are prepared by NumPy, slower",
    }
    for name, said in otherwise.items():
        assert found[name]["state"] == "note"
        assert found[name]["found"] == f"none (no shipped libraries; no C compiler): {said}"
        assert "pip install ziglang" in found[name]["do"]
    assert found["compiler"]["found"].startswith("none")


@pytest.mark.skipif(not compilers(), reason="no compiler here")
def test_a_forced_level_is_named_and_one_that_cannot_be_is_broken(monkeypatch) -> None:
    level = permitted(features(), None, machine())[0].name
    monkeypatch.setenv("JUMOK_CPU", level)
    assert f"level {level}" in checks()["engine"]["found"]
    assert f"level {level}" in checks()["texts"]["found"]
    monkeypatch.setenv("JUMOK_CPU", "torch")
    found = checks()
    assert found["engine"]["do"] == found["texts"]["do"] == "unset JUMOK_CPU"
    other = "arm" if machine() == "x86_64" else "v2"
    monkeypatch.setenv("JUMOK_CPU", other)
    found = checks(1)
    assert found["processor"]["state"] == found["engine"]["state"] == "broken"
    assert f"got: {other}" not in found["processor"]["found"]
    assert f"{other}, which needs a processor of the kind" in found["processor"]["found"]
    assert "or unset it" in found["processor"]["do"]
    done = doctor()
    assert done.exit_code == 1
    assert "BROKEN" in done.stdout
    assert "broken" in done.stdout.splitlines()[-1]


def test_a_cache_that_cannot_be_written_is_noted_and_the_engine_runs(monkeypatch, tmp_path) -> None:
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("JUMOK_CACHE", str(tmp_path / "file" / "cache"))
    found = checks()
    assert found["cache"]["state"] == "note"
    assert "Not a directory" in found["cache"]["found"]
    assert "export JUMOK_CACHE=FOLDER" in found["cache"]["do"]
    assert found["engine"]["state"] == found["texts"]["state"] == ("ok" if compilers() else "note")


def test_a_damaged_installation_is_broken(monkeypatch, tmp_path) -> None:
    (tmp_path / "libraries.json").write_text("{")
    monkeypatch.setattr(building, "SHIPPED", tmp_path)
    found = checks(1)
    assert "libraries.json is damaged" in found["engine"]["found"]
    assert found["engine"]["do"] == "pip install --force-reinstall jumok"


def test_a_missing_extra_is_named_with_what_it_brings() -> None:
    found = checks()
    assert ("[meteor]" in found) == (importlib.util.find_spec("pycocoevalcap") is None)
    if "[meteor]" in found:
        assert found["[meteor]"] == {
            "name": "[meteor]",
            "state": "note",
            "found": "not installed: METEOR (needs Java)",
            "do": 'pip install "jumok[meteor]"',
        }
    assert "plot" in found["extras"]["found"]
    assert diagnosis.not_installed(["numpy", "no-such-package"]) == ["no-such-package"]


def test_only_what_device_takes_is_called_a_gpu(monkeypatch) -> None:
    """--device mps is refused."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    assert checks()["GPU"]["found"] == "none: runs on the CPU"


def test_every_extra_is_known() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert set(diagnosis.EXTRAS) == set(project["optional-dependencies"])
    listed = diagnosis.required()
    assert {"torch", "numpy", "typer"} <= set(listed[""])
    assert {"lxml", "markdown-it-py", "translate-toolkit"} < set(listed["documents"])


def test_a_bundle_is_whole_damaged_or_without_a_digest(tiny_bundle: Path, tmp_path: Path) -> None:
    whole, damaged, old = (shutil.copytree(tiny_bundle, tmp_path / name) for name in "abc")
    weights = damaged / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"\x77")
    change(old / "config.json", weights_sha256=None)
    assert jumok.load(old).task == "translation"
    done = doctor(*map(str, (whole, damaged, old)), "--json")
    assert done.exit_code == 1
    models = [each for each in json.loads(done.stdout)["checks"] if each["name"] == "model"]
    assert [each["state"] for each in models] == ["ok", "broken", "note"]
    assert f"{whole}: as written, SHA-256 " in models[0]["found"]
    assert f"{weights}: the weights are not those" in models[1]["found"]
    assert "does not name the SHA-256" in models[2]["found"]
