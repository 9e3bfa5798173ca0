"""Checks that two folders hold one architecture and vocabulary: before and after fine-tuning."""

import hashlib
import json
from pathlib import Path

from jumok.bundle.huggingface import TOKENIZER as THEIR_TOKENIZER
from jumok.bundle.quantised import scales_of
from jumok.bundle.reading import CONFIG, TOKENIZER, WEIGHTS, read_header
from jumok.errors import BundleError, Location

DO = "name the model that it was trained from; --with compares any two models side by side"


def check_same_architecture(model: Path, other: Path) -> None:
    """Raises a BundleError unless both have the same tensors, sizes, labels and vocabulary.

    Settings that matter in training alone (dropout, and what balances experts) may differ.
    """
    settings, other_settings = _settings(model), _settings(other)
    for name in sorted(settings.keys() | other_settings.keys()):
        if settings.get(name) != other_settings.get(name):
            raise _unlike(
                "sizes", f"{name} = {settings.get(name)!r}", f"{other_settings.get(name)!r}", other
            )
    shapes, others = _shapes(model), _shapes(other)
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


def _settings(folder: Path) -> dict[str, object]:
    try:
        config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BundleError(
            f"{CONFIG} cannot be read.", got=str(error), place=Location(folder)
        ) from None
    model = config.get("model", config) if isinstance(config, dict) else {}
    own = {name: config[name] for name in ("task", "vocabulary_size", "labels") if name in config}
    kept = {name: value for name, value in model.items() if _of_form(name)}
    return {**kept, **own}


def _of_form(name: str) -> bool:
    return not any(word in name for word in ("dropout", "balance", "_name", "version", "dtype"))


def _shapes(folder: Path) -> dict[str, tuple[int, ...]]:
    stored = read_header(folder / WEIGHTS)
    scales = scales_of(stored)
    return {name: tensor.shape for name, tensor in stored.items() if name not in scales}


def _size(shape: tuple[int, ...] | None) -> str:
    return "no such tensor" if shape is None else " x ".join(map(str, shape)) or "one number"


def _vocabulary(folder: Path) -> str:
    files = [folder / name for name in (TOKENIZER, THEIR_TOKENIZER)]
    digests = [hashlib.sha256(file.read_bytes()).hexdigest() for file in files if file.is_file()]
    return " ".join(digests)
