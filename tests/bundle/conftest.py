"""A bundle that tests may damage."""

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def copy(tiny_bundle: Path, tmp_path: Path) -> Path:
    return shutil.copytree(tiny_bundle, tmp_path / "model")


def change(file: Path, **keys: Any) -> None:
    """Changes keys of a JSON file; "model__dim" is a key of a part."""
    values = json.loads(file.read_text(encoding="utf-8"))
    for key, value in keys.items():
        *parts, last = key.split("__")
        inner = values
        for part in parts:
            inner = inner[part]
        inner[last] = value
    file.write_text(json.dumps(values), encoding="utf-8")


def sign(folder: Path) -> None:
    """Names the digest of the weights, after they were changed."""
    digest = hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
    change(folder / "config.json", weights_sha256=digest)
