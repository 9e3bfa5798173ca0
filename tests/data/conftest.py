"""Real and small corpora for the tests of the data package."""

import os
from pathlib import Path

import pytest

from jumok.data.tokenizer import Tokenizer
from tests.data.sentences import ENGLISH


@pytest.fixture(scope="session")
def tokenizer() -> Tokenizer:
    return Tokenizer.train(ENGLISH, "bpe", 320)


@pytest.fixture(scope="session")
def multi30k() -> Path:
    folder = Path(os.environ.get("JUMOK_DATA", "../shared/data")) / "multi30k"
    if not folder.is_dir():
        pytest.skip(f"needs the data folder {folder}")
    return folder
