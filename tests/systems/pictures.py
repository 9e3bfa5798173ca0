"""A captioner nobody trained, and pictures for it."""

from pathlib import Path

import numpy as np
import torch
from PIL import Image

from jumok.bundle.card import BundleConfig, Card
from jumok.bundle.writing import write_bundle
from jumok.config import CaptionerConfig
from jumok.data.tokenizer import Tokenizer
from jumok.models.captioner import CaptionerModel
from tests.conftest import TINY_TEXT
from tests.parity.torch_weights import roughen

CNN = {"kind": "cnn", "size": 8, "patch": 2, "channels": [8], "blocks": 1}
GIVEN = {"kind": "given", "rows": 2, "columns": 3, "dim": 5}
READER = {"layers": 2, "heads": 2, "feedforward": 17}
GATED = {"kind": "rnn", "dim": 16, "embedding": 12, "attention": "additive", "gate": True}
STACK = {
    "kind": "transformer",
    "dim": 12,
    "heads": 3,
    "feedforward": 29,
    "layers": 2,
    "max_length": 40,
}


def write_captioner(folder: Path, **changes: object) -> Path:
    """A bundle whose captions are short nonsense, of at most 11 pieces."""
    tokenizer = Tokenizer.train(TINY_TEXT, "bpe", 350)
    config = CaptionerConfig.model_validate({"encoder": CNN, "decoder": STACK, **changes})
    torch.manual_seed(1)
    model = roughen(CaptionerModel(config, tokenizer.size))
    bundle = BundleConfig(
        "captioning",
        config.model_dump(),
        tokenizer.size,
        target_language="en",
        max_tokens=11,
        alignment_layer=0 if config.memory == "grid" else None,
    )
    return write_bundle(folder, model.state_dict(), bundle, tokenizer, Card(name="tiny"))


def write_pictures(folder: Path, count: int = 3) -> list[Path]:
    """Pictures of one colour each, of several shapes."""
    folder.mkdir(exist_ok=True)
    files = []
    for index in range(count):
        files.append(folder / f"{index}.png")
        Image.new("RGB", (9 + index, 5 + 3 * index), (80 * index, 200, 30)).save(files[-1])
    return files


def write_noise(file: Path) -> Path:
    """A picture of 8 x 8 pixels, each of a colour of its own."""
    pixels = np.random.default_rng(3).integers(0, 255, (8, 8, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(file)
    return file
