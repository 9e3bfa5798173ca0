"""Real and small corpora for the tests of the data package."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

from jumok.data.tokenizer import Tokenizer
from tests.data.sentences import ENGLISH

# A busy machine is slow, which says nothing about the code.
settings.register_profile("no deadline", deadline=None)
settings.load_profile("no deadline")


@pytest.fixture(scope="session")
def tokenizer() -> Tokenizer:
    return Tokenizer.train(ENGLISH, "bpe", 320)


@pytest.fixture(scope="session")
def multi30k() -> Path:
    folder = Path(os.environ.get("JUMOK_DATA", "../shared/data")) / "multi30k"
    if not folder.is_dir():
        pytest.skip(f"needs the data folder {folder}")
    return folder
