"""Writing a bundle atomically."""

import json
import shutil
from collections.abc import Mapping
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Protocol, runtime_checkable

from torch import Tensor

from jumok.bundle.card import BundleConfig, Card, card_text
from jumok.bundle.reading import (
    CARD,
    CONFIG,
    FORMAT,
    README,
    TOKENIZER,
    WEIGHTS,
    previous_folder,
)
from jumok.bundle.tensor_file import write_tensors
from jumok.data.files.atomic import force_to_disk, partial_of
from jumok.errors import BundleError, Location


@runtime_checkable
class SavedTokenizer(Protocol):
    """A tokenizer of any kind: one file, and its SHA-256."""

    hash: str

    def save(self, path: Path) -> None: ...


def write_bundle(
    folder: Path,
    weights: Mapping[str, Tensor],
    config: BundleConfig,
    tokenizer: SavedTokenizer | None,
    card: Card,
) -> Path:
    """Writes a bundle atomically; a bundle that is already there is replaced.

    Args:
        weights: a `state_dict()`; tied weights may have several names. They keep their types:
            give float32, bfloat16, or int8 with scales (`jumok.bundle.quantised`).
        tokenizer: None for a model that reads no text.

    Raises:
        BundleError: no permission, a full disk, or the folder is something else than a bundle.
    """
    folder = Path(folder).absolute()
    if folder.exists() and not (folder / CONFIG).is_file():
        raise BundleError(
            "the folder for the bundle is something else than a bundle.",
            place=Location(folder),
            do="choose another folder, or remove this one yourself",
        )
    new = partial_of(folder)
    try:
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir(parents=True)
        _fill(new, weights, config, tokenizer, card)
        _flush(new)
        _put_in_place(new, folder)
    except OSError as error:
        raise BundleError(
            "the bundle could not be written; the old contents are untouched.",
            place=Location(folder),
            got=str(error.strerror or error),
            do="free some space or choose a folder that you may write to",
        ) from error
    finally:
        shutil.rmtree(new, ignore_errors=True)
    return folder


def _fill(
    folder: Path,
    weights: Mapping[str, Tensor],
    config: BundleConfig,
    tokenizer: SavedTokenizer | None,
    card: Card,
) -> None:
    if tokenizer is not None:
        tokenizer.save(folder / TOKENIZER)
    head = {
        "format": FORMAT,
        "jumok": version("jumok"),
        "tokenizer_sha256": tokenizer.hash if tokenizer is not None else None,
        "weights_sha256": write_tensors(folder / WEIGHTS, _once(weights)),
    }
    _write_json(folder / CONFIG, head | asdict(config))
    _write_json(folder / CARD, asdict(card))
    (folder / README).write_text(card_text(config, card), encoding="utf-8")


def _once(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Each tensor with the first of its names: tied weights share one storage."""
    first: dict[tuple[int, tuple[int, ...]], str] = {}
    for name, tensor in weights.items():
        first.setdefault((tensor.data_ptr(), tuple(tensor.shape)), name)
    return {name: weights[name] for name in first.values()}


def _flush(folder: Path) -> None:
    """A rename must not become durable before the files that it names."""
    for path in [*folder.iterdir(), folder]:
        force_to_disk(path)


def _put_in_place(new: Path, folder: Path) -> None:
    """Renames `new` to `folder`; the old folder has a temporary name in the meantime."""
    previous = previous_folder(folder)
    if folder.exists():
        shutil.rmtree(previous, ignore_errors=True)
        folder.rename(previous)
    try:
        new.rename(folder)
    except OSError:
        if previous.exists():
            previous.rename(folder)
        raise
    force_to_disk(folder.parent)
    shutil.rmtree(previous, ignore_errors=True)


def _write_json(file: Path, value: Mapping[str, object]) -> None:
    file.write_text(json.dumps(value, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
