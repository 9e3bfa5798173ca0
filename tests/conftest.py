"""Every shape annotation of jumok is executed while the tests run."""

import gc
import os
from pathlib import Path

import pytest

# Before torch is imported, and for the processes that tests start: two threads in each of two
# workers wait for one another on two cores, and a test of 4 s takes 50 s.
os.environ.setdefault("OMP_NUM_THREADS", "1")

from tests.shape_checks import install  # imports torch

# Where tensors are.
ROOMS = [
    *("alignment", "attention", "bundle", "data", "decoding", "evaluation", "inspection"),
    *("kernels", "layers", "models", "positions", "systems", "tracing", "training"),
]
install([f"jumok.{room}" for room in ROOMS])


def pytest_collection_finish() -> None:
    """The modules and the tests stay to the end: the garbage collector need not look for them."""
    gc.freeze()


TINY_TEXT = [
    "I am a student.",
    "the cat sat on the mat, and the dog barked.",
    "나는 학생입니다.",
    "고양이가 매트 위에 앉았고 개가 짖었다.",
]


@pytest.fixture(scope="session")
def tiny_bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A real bundle: SentencePiece of 350 pieces, and a Transformer nobody trained."""
    import torch

    from jumok.bundle.card import BundleConfig, Card, Score
    from jumok.bundle.writing import write_bundle
    from jumok.config import TransformerConfig
    from jumok.data.tokenizer import Tokenizer
    from jumok.models.catalog import DataSizes, build

    tokenizer = Tokenizer.train(TINY_TEXT, "bpe", 350)
    sizes = TransformerConfig(
        dim=24, heads=3, encoder_layers=1, decoder_layers=3, feedforward=29, max_length=200
    )
    torch.manual_seed(1)
    model = build(sizes, DataSizes(vocabulary=tokenizer.size))
    config = BundleConfig(
        "translation",
        sizes.model_dump(),
        tokenizer.size,
        source_language="en",
        target_language="ko",
        max_tokens=61,
    )
    card = Card(
        name="tiny",
        trained_on=("nothing",),
        date="2026-11-20",
        scores=(Score("BLEU", 12.5, 11.25, 13.75, "nrefs:1|tok:13a", "test.en"),),
    )
    folder = tmp_path_factory.mktemp("bundles") / "tiny"
    return write_bundle(folder, model.state_dict(), config, tokenizer, card)
