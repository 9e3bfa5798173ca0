"""Checks that two folders hold one architecture and vocabulary: before and after fine-tuning."""

import re
from pathlib import Path

from jumok.bundle.huggingface import TOKENIZER as THEIR_TOKENIZER
from jumok.bundle.quantised import scales_of
from jumok.bundle.reading import (
    CONFIG,
    TOKENIZER,
    WEIGHTS,
    read_json_object,
    read_tensor_entries,
    sha256,
)
from jumok.errors import BundleError, Location

ONLY_TRAINING = re.compile("dropout|balance|_name|version|dtype")
"""The settings that two versions of a model need not share."""
DO = "name the model that it was trained from; --with compares any two models side by side"


def check_same_architecture(model: Path, other: Path) -> None:
    """Raises a BundleError unless both have the same tensors, sizes, labels and vocabulary.

    Settings that matter in training alone (dropout, and what balances experts) may differ.
    """
    settings, other_settings = _sizes(model), _sizes(other)
    for name in sorted(settings.keys() | other_settings.keys()):
        if settings.get(name) != other_settings.get(name):
            raise _unlike(
                "sizes", f"{name} = {settings.get(name)!r}", f"{other_settings.get(name)!r}", other
            )
    shapes, others = _tensor_shapes(model), _tensor_shapes(other)
    for name in sorted(shapes.keys() | others.keys()):
        if shapes.get(name) != others.get(name):
            sizes = (_size(tensors.get(name)) for tensors in (shapes, others))
            raise _unlike("shapes", f"{name}: {next(sizes)}", next(sizes), other)
    if _vocabulary(model) != _vocabulary(other):
        raise _unlike(
            "vocabularies", f"the tokenizer of {model}", "another tokenizer of the same size", other
        )


def _unlike(what: str, expected: str, got: str, other: Path) -> BundleError:
    return BundleError(
        f"these models have different {what}, so they are not one model before and after training.",
        expected=expected,
        got=got,
        do=DO,
        place=Location(other),
    )


def _sizes(folder: Path) -> dict[str, object]:
    config = read_json_object(folder / CONFIG)
    model = config.get("model", config)
    sizes = model if isinstance(model, dict) else {}
    own = {name: config[name] for name in ("task", "vocabulary_size", "labels") if name in config}
    return {name: value for name, value in sizes.items() if not ONLY_TRAINING.search(name)} | own


def _tensor_shapes(folder: Path) -> dict[str, tuple[int, ...]]:
    stored = read_tensor_entries(folder / WEIGHTS)
    scales = scales_of(stored)
    return {name: tensor.shape for name, tensor in stored.items() if name not in scales}


def _size(shape: tuple[int, ...] | None) -> str:
    return "no such tensor" if shape is None else " x ".join(map(str, shape)) or "one number"


def _vocabulary(folder: Path) -> str:
    files = [folder / name for name in (TOKENIZER, THEIR_TOKENIZER)]
    return " ".join(sha256(file) for file in files if file.is_file())
