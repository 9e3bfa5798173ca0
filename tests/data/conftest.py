"""Real and small corpora for the tests of the data package."""

import os
import shutil
from pathlib import Path

import pytest
from hypothesis import settings

from jumok.data.tokenizer import Tokenizer
from tests.data.sentences import ENGLISH
from tests.data.shards import write

# A busy machine is slow, which says nothing about the code.
settings.register_profile("no deadline", deadline=None)
settings.load_profile("no deadline")


@pytest.fixture(scope="session")
def tokenizer() -> Tokenizer:
    return Tokenizer.train(ENGLISH, "bpe", 320)


@pytest.fixture(scope="session")
def corpus_as_written(tokenizer: Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A prepared corpus, written once: it is forced to the disk, which takes seconds on some."""
    folder = tmp_path_factory.mktemp("prepared")
    write(folder, tokenizer)
    return folder


@pytest.fixture
def folder(corpus_as_written: Path, tmp_path: Path) -> Path:
    """A prepared corpus that may be changed."""
    return Path(shutil.copytree(corpus_as_written, tmp_path / "corpus"))


@pytest.fixture(scope="session")
def multi30k() -> Path:
    folder = Path(os.environ.get("JUMOK_DATA", "../shared/data")) / "multi30k"
    if not folder.is_dir():
        pytest.skip(f"needs the data folder {folder}")
    return folder
