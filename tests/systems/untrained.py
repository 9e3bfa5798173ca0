"""Bundles of models that nobody trained."""

from pathlib import Path

import torch

from jumok.bundle.card import BundleConfig, Card
from jumok.bundle.writing import write_bundle
from jumok.config import MaskedConfig, TextClassifierConfig
from jumok.config.pictures import ImageClassifierConfig
from jumok.config.recurrent import RecurrentConfig
from jumok.data.tokenizer import Tokenizer
from jumok.models.catalog import DataSizes, build
from tests.conftest import TINY_TEXT
from tests.parity.torch_weights import roughen


def write_classifier(
    folder: Path,
    seed: int = 1,
    labels: tuple[str, ...] = ("blue", "green", "red"),
    attention_after: tuple[int, ...] = (2,),
) -> Path:
    """A classifier of pictures of 8 x 10 pixels."""
    config = ImageClassifierConfig(
        height=8, width=10, channels=(8, 12), attention_after=attention_after, attention_heads=2
    )
    torch.manual_seed(seed)
    weights = build(config, DataSizes(labels=len(labels))).state_dict()
    told = BundleConfig("image-classification", config.model_dump(mode="json"), labels=labels)
    return write_bundle(folder, weights, told, None, Card("untrained"))


def write_text_classifier(folder: Path, labels: tuple[str, ...] = ("bad", "good")) -> Path:
    """A classifier of texts, with a vocabulary of its own."""
    tokenizer = Tokenizer.train(TINY_TEXT, "bpe", 350)
    config = TextClassifierConfig(dim=12, heads=3, layers=2, feedforward=20, max_length=40)
    torch.manual_seed(1)
    model = build(config, DataSizes(vocabulary=tokenizer.size, labels=len(labels)))
    told = BundleConfig(
        "text-classification",
        config.model_dump(mode="json"),
        tokenizer.size,
        max_tokens=38,
        labels=labels,
    )
    return write_bundle(folder, model.state_dict(), told, tokenizer, Card("untrained"))


def write_masked(folder: Path) -> Path:
    """A filler of gaps, with a vocabulary of its own."""
    tokenizer = Tokenizer.train(TINY_TEXT, "bpe", 350)
    config = MaskedConfig(dim=12, heads=3, layers=2, feedforward=20, max_length=40)
    torch.manual_seed(1)
    model = build(config, DataSizes(vocabulary=tokenizer.size))
    told = BundleConfig("masked-lm", config.model_dump(mode="json"), tokenizer.size, max_tokens=38)
    return write_bundle(folder, model.state_dict(), told, tokenizer, Card("untrained"))


def write_rnn(folder: Path, **changes: object) -> Path:
    """A translator with an RNN on both sides."""
    tokenizer = Tokenizer.train(TINY_TEXT, "bpe", 350)
    config = RecurrentConfig.model_validate({"dim": 16, "embedding": 12, **changes})
    torch.manual_seed(1)
    model = roughen(build(config, DataSizes(vocabulary=tokenizer.size)))
    told = BundleConfig("translation", config.model_dump(), tokenizer.size, max_tokens=61)
    return write_bundle(folder, model.state_dict(), told, tokenizer, Card("rnn"))
