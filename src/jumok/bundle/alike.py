"""Whether two folders hold one architecture with one vocabulary: before and after fine-tuning."""

import hashlib
import json
from pathlib import Path

from jumok.bundle.header import read_header
from jumok.bundle.quantised import scales_of
from jumok.bundle.reading import CONFIG, TOKENIZER, WEIGHTS
from jumok.bundle.theirs import TOKENIZER as THEIR_TOKENIZER
from jumok.errors import BundleError, Place

DO = "name the model that it was trained from; --with compares any two models side by side"


def check_alike(model: Path, other: Path) -> None:
    """Checks that both folders have the same tensors, sizes, labels and vocabulary.

    Settings that matter in training alone (dropout, and what balances experts) may differ.

    Raises:
        BundleError: they have not; or one of them has no weights or no config.json.
    """
    ours, theirs = _settings(model), _settings(other)
    for name in sorted(ours.keys() | theirs.keys()):
        if ours.get(name) != theirs.get(name):
            raise _unlike("sizes", f"{name} = {ours.get(name)!r}", f"{theirs.get(name)!r}", other)
    shapes, others = _shapes(model), _shapes(other)
    for name in sorted(shapes.keys() | others.keys()):
        if shapes.get(name) != others.get(name):
            found = (_size(each.get(name)) for each in (shapes, others))
            raise _unlike("shapes", f"{name}: {next(found)}", next(found), other)
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
        place=Place(other),
    )


def _settings(folder: Path) -> dict[str, object]:
    """What config.json says that gives the model another form."""
    try:
        told = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BundleError(
            f"{CONFIG} cannot be read.", got=str(error), place=Place(folder)
        ) from None
    model = told.get("model", told) if isinstance(told, dict) else {}
    own = {name: told[name] for name in ("task", "vocabulary_size", "labels") if name in told}
    kept = {name: value for name, value in model.items() if _of_form(name)}
    return {**kept, **own}


def _of_form(name: str) -> bool:
    """Whether a setting belongs to the form of a model, and not to its training or its file."""
    return not any(word in name for word in ("dropout", "balance", "_name", "version", "dtype"))


def _shapes(folder: Path) -> dict[str, tuple[int, ...]]:
    stored = read_header(folder / WEIGHTS)
    scales = scales_of(stored)
    return {name: tensor.shape for name, tensor in stored.items() if name not in scales}


def _size(shape: tuple[int, ...] | None) -> str:
    return "no such tensor" if shape is None else " x ".join(map(str, shape)) or "one number"


def _vocabulary(folder: Path) -> str:
    files = [folder / name for name in (TOKENIZER, THEIR_TOKENIZER)]
    found = [hashlib.sha256(file.read_bytes()).hexdigest() for file in files if file.is_file()]
    return " ".join(found)
