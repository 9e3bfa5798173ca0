"""Bundles of models that nobody trained."""

from pathlib import Path

import torch

from jumok.bundle.card import BundleConfig, Card
from jumok.bundle.writing import write_bundle
from jumok.config.pictures import ImageClassifierConfig
from jumok.models.catalog import Sizes, build


def write_classifier(
    folder: Path, seed: int = 1, labels: tuple[str, ...] = ("blue", "green", "red")
) -> Path:
    """A classifier of pictures of 8 x 10 pixels."""
    config = ImageClassifierConfig(
        height=8, width=10, channels=(8, 12), attention_after=(2,), attention_heads=2
    )
    torch.manual_seed(seed)
    weights = build(config, Sizes(labels=len(labels))).state_dict()
    told = BundleConfig("image-classification", config.model_dump(mode="json"), labels=labels)
    return write_bundle(folder, weights, told, None, Card("untrained"))
