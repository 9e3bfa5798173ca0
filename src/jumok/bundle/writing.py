"""Writing a bundle whole or not at all."""

import json
import shutil
from collections.abc import Mapping
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from safetensors.torch import save
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
from jumok.data.atomic import force_to_disk, partial_of
from jumok.errors import BundleError, Place


@runtime_checkable
class SavedTokenizer(Protocol):
    """A tokenizer of any kind: one file, and the SHA-256 of it."""

    hash: str

    def save(self, path: Path) -> None: ...


def write_bundle(
    folder: Path,
    weights: Mapping[str, Tensor],
    config: BundleConfig,
    tokenizer: SavedTokenizer | None,
    card: Card,
) -> Path:
    """Writes a bundle whole or not at all; a bundle that stood there is replaced.

    Everything is written and flushed in a sibling folder, which is then renamed.

    Args:
        folder: where the bundle shall stand.
        weights: a `state_dict()`; tied weights may come under several names. They keep their
            types: give float32 or bfloat16.
        config: what it takes to build the model again.
        tokenizer: the one the model was trained with; None for what reads no text.
        card: what a person wants to know.

    Raises:
        BundleError: no permission, a full disk, or something else than a bundle stands there.
    """
    folder = Path(folder).absolute()
    if folder.exists() and not (folder / CONFIG).is_file():
        raise BundleError(
            "something that is not a bundle stands where the bundle shall be written.",
            place=Place(folder),
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
            "the bundle could not be written; what stood there before is untouched.",
            place=Place(folder),
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
    }
    _write_json(folder / CONFIG, head | asdict(config))
    _write_json(folder / CARD, asdict(card))
    (folder / README).write_text(card_text(config, card), encoding="utf-8")
    # Bytes written by Python raise OSError on a full disk; save_file has an error of its own.
    (folder / WEIGHTS).write_bytes(save(_once(weights), metadata={"format": "pt"}))


def _once(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Each tensor under the first of its names: tied weights share one storage."""
    first: dict[tuple[int, tuple[int, ...]], str] = {}
    for name, tensor in weights.items():
        first.setdefault((tensor.data_ptr(), tuple(tensor.shape)), name)
    return {name: weights[name].detach().cpu().contiguous() for name in first.values()}


def _flush(folder: Path) -> None:
    """Onto the disk: a rename must not become durable before what it names."""
    for path in [*folder.iterdir(), folder]:
        force_to_disk(path)


def _put_in_place(new: Path, folder: Path) -> None:
    """Renames `new` to `folder`; what stood there steps aside for the moment in between."""
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


def _write_json(file: Path, value: dict[str, Any]) -> None:
    file.write_text(json.dumps(value, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
