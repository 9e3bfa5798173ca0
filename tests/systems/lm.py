"""A language model that nobody trained, as a bundle."""

from pathlib import Path

import torch

from jumok.bundle.card import BundleConfig, Card
from jumok.bundle.writing import write_bundle
from jumok.config.causal import CausalConfig
from jumok.data.texts.tokenizer import ByteTokenizer
from jumok.models.causal import CausalLanguageModel

CONTEXT = 8


def write_lm(folder: Path, documents: str = "file") -> Path:
    """Bytes, one block, a context of 8."""
    sizes = CausalConfig(dim=24, heads=3, layers=1, feedforward=29, max_length=CONTEXT)
    torch.manual_seed(1)
    model = CausalLanguageModel(sizes, ByteTokenizer.size)
    config = BundleConfig(
        task="language-model",
        model=sizes.model_dump(),
        vocabulary_size=ByteTokenizer.size,
        max_tokens=CONTEXT,
        documents=documents,
    )
    card = Card(name="letters", date="2026-11-20")
    return write_bundle(folder, model.state_dict(), config, ByteTokenizer(), card)
