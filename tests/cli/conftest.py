"""The shelf of the documents' commands, written once."""

import copy
import os
import shutil
from pathlib import Path

import pytest

import jumok.parts
import jumok.plugins
from tests.cli.running import Runner
from tests.cli.shelf import write_shelf


@pytest.fixture(scope="session")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the documents name."""
    folder = tmp_path_factory.mktemp("shelf")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("JUMOK_DATA", str(folder / "data"))
        write_shelf(folder)
    return folder


@pytest.fixture
def on_shelf(shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Runner:
    """Runs commands in a copy of the shelf, which is the working folder."""
    shutil.copytree(shelf, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("JUMOK_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("BROWSER", "true")
    monkeypatch.setenv("JUMOK_LANG", "en")
    monkeypatch.setattr("jumok.parts.PARTS", copy.deepcopy(jumok.parts.PARTS))  # no plugin stays
    monkeypatch.setattr("jumok.plugins.LOADED", {})
    return Runner()
