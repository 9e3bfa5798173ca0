"""Checkpoints: all that an exact resume needs, in one file that is either whole or not there.

A checkpoint is a safetensors file: tensors of the learner, and the rest of the run's state as
JSON in the file's metadata. The new file is written beside the old one, forced to the disk, and
only then takes its name; the one before stays as `checkpoint.previous.safetensors`. So at every
moment, a `kill -9` or a power cut included, at least one whole checkpoint is in the folder.
"""

import contextlib
import json
import os
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from jumok.errors import BundleError, Place, TrainingError
from jumok.shapes import Tensor

CURRENT = "checkpoint.safetensors"
PREVIOUS = "checkpoint.previous.safetensors"
PARTIAL = "checkpoint.partial"
DAMAGED = "checkpoint.damaged"
FORMAT = 1


@dataclass(frozen=True)
class Checkpoint:
    """Tensors by name, and the rest of the run's state as JSON values."""

    tensors: Mapping[str, Tensor]
    run: Mapping[str, Any]


def save(folder: Path, checkpoint: Checkpoint) -> None:
    """Writes the folder's checkpoint whole or not at all.

    Raises:
        TrainingError: the disk is full or refuses; the checkpoint before is still there.
    """
    tensors = {name: tensor.detach().cpu() for name, tensor in checkpoint.tensors.items()}
    metadata = {
        "format": str(FORMAT),
        "run": json.dumps(checkpoint.run),
        "crc32": json.dumps({name: _crc32(tensor) for name, tensor in tensors.items()}),
    }
    partial = folder / PARTIAL
    try:
        save_file(tensors, partial, metadata=metadata)
        _force_to_disk(partial)
        if (folder / CURRENT).exists():
            os.replace(folder / CURRENT, folder / PREVIOUS)
        os.replace(partial, folder / CURRENT)
        _force_to_disk(folder)
    except (OSError, SafetensorError) as error:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)
        raise TrainingError(
            "the checkpoint could not be written.",
            got=str(error),
            do="free some space or mend the permissions, then run again with --resume; "
            "the checkpoint before this one is untouched",
            place=Place(folder),
        ) from error


def load(folder: Path) -> tuple[Checkpoint, str | None]:
    """The newest whole checkpoint, and what to tell the user if a damaged one was passed over.

    The damaged file is renamed, so that the next save does not put it in the place of the good one.

    Raises:
        BundleError: there is none, or none that is whole.
    """
    damage: BundleError | None = None
    for path in _candidates(folder):
        try:
            checkpoint = read(path)
        except BundleError as error:
            damage = damage or error
            continue
        if damage is None:
            return checkpoint, None
        os.replace(folder / CURRENT, folder / DAMAGED)
        return checkpoint, f"{damage.place}: {damage.what} Going back to {path.name}."
    if damage is not None:
        raise damage
    raise BundleError(
        "there is no checkpoint to resume from.",
        place=Place(folder),
        do="leave --resume away to start anew",
    )


def exists(folder: Path) -> bool:
    """Whether there is anything to resume from."""
    return any(True for _ in _candidates(folder))


def read(path: Path) -> Checkpoint:
    """One checkpoint file, checked tensor by tensor; the tensors are windows into the file.

    Raises:
        BundleError: cut, damaged, or of a newer format.
    """
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            if int(metadata.get("format", "0")) > FORMAT:
                raise BundleError(
                    "the checkpoint is of a newer format.",
                    expected=f"format {FORMAT} or older",
                    got=f"format {metadata['format']}",
                    do="update jumok",
                    place=Place(path),
                )
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            sums, run = json.loads(metadata["crc32"]), json.loads(metadata["run"])
    except (SafetensorError, OSError, KeyError, ValueError) as error:
        raise _damaged(path, str(error)) from error
    for name, tensor in tensors.items():
        if _crc32(tensor) != sums.get(name):
            raise _damaged(path, f"the check sum of {name!r} does not fit")
    return Checkpoint(tensors, run)


def _candidates(folder: Path) -> Iterator[Path]:
    return (path for path in (folder / CURRENT, folder / PREVIOUS) if path.exists())


def _damaged(path: Path, reason: str) -> BundleError:
    return BundleError(
        "the checkpoint is cut or damaged.",
        got=reason,
        do="resume from an older copy, or start the run anew under another name",
        place=Place(path),
    )


def _crc32(tensor: Tensor) -> int:
    return zlib.crc32(tensor.contiguous().view(-1).view(torch.uint8).numpy().data)


def _force_to_disk(path: Path) -> None:
    """fsync of a file, or of a folder whose entries changed."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
