"""Servers of untrained models, one of every kind."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.serving.http.process import ServedProcess, serving
from tests.systems.lm import write_lm
from tests.systems.pictures import write_captioner
from tests.systems.untrained import write_classifier, write_masked, write_text_classifier


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory, tiny_bundle: Path) -> dict[str, Path]:
    """A bundle of every kind, by the names under which they are served."""
    home = tmp_path_factory.mktemp("served")
    return {
        "en-ko": tiny_bundle,
        "letters": write_lm(home / "letters"),
        "gaps": write_masked(home / "gaps"),
        "labels": write_text_classifier(home / "labels"),
        "colours": write_classifier(home / "colours"),
        "captions": write_captioner(home / "captions"),
    }


@pytest.fixture(scope="session")
def served(
    folders: dict[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ServedProcess]:
    """One server of all of them."""
    named = [f"{name}={folder}" for name, folder in folders.items()]
    with serving(tmp_path_factory.mktemp("server"), *named) as server:
        yield server


@pytest.fixture
def client(served: ServedProcess) -> Iterator[httpx.Client]:
    with served.client() as client:
        yield client
