"""A language model that nobody trained, as a bundle."""

from pathlib import Path

import torch

from jumok.bundle.card import BundleConfig, Card
from jumok.bundle.writing import write_bundle
from jumok.config.causal import CausalConfig
from jumok.data.texts.tokenizer import ByteTokenizer
from jumok.models.causal import CausalLanguageModel

CONTEXT = 8


def write_lm(
    folder: Path,
    documents: str = "file",
    *,
    context: int = CONTEXT,
    damaged: str = "",
    **widths: int,
) -> Path:
    """Bytes, one block.

    Args:
        damaged: a character after which the model's log-probabilities are not numbers.
    """
    wide = {"dim": 24, "heads": 3, "layers": 1, "feedforward": 29} | widths
    sizes = CausalConfig(**wide, max_length=context, tied=not damaged)
    torch.manual_seed(1)
    model = CausalLanguageModel(sizes, ByteTokenizer.size)
    if damaged:
        with torch.no_grad():
            model.decoder.embedding.table[ByteTokenizer().encode(damaged)] = torch.nan
    config = BundleConfig(
        task="language-model",
        model=sizes.model_dump(),
        vocabulary_size=ByteTokenizer.size,
        max_tokens=context,
        documents=documents,
    )
    card = Card(name="letters", date="2026-11-20")
    return write_bundle(folder, model.state_dict(), config, ByteTokenizer(), card)
