"""Checkpoints: the state for an exact resume, in one file that is written atomically.

A checkpoint is a safetensors file: tensors of the learner, and the rest of the run's state as JSON
in the file's metadata. The new file is written next to the old one, forced to the disk, and only
then renamed; the previous one stays as `checkpoint.previous.safetensors`. So the folder always has
at least one complete checkpoint, even after a `kill -9` or a power cut.
"""

import contextlib
import hashlib
import json
import os
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from jumok.data.files.atomic import force_to_disk
from jumok.errors import BundleError, Place, TrainingError
from jumok.json_types import JsonObject
from jumok.shapes import Tensor

CURRENT = "checkpoint.safetensors"
PREVIOUS = "checkpoint.previous.safetensors"
PARTIAL = "checkpoint.partial"
UNNAMED = ".tmp??????"  # the temporary file of safetensors
DAMAGED = "checkpoint.damaged"
FORMAT = 3  # 3 has the block of each corpus in the cursor


@dataclass(frozen=True)
class Checkpoint:
    """Tensors by name, and the rest of the run's state as JSON values."""

    tensors: Mapping[str, Tensor]
    run: JsonObject


def save(folder: Path, checkpoint: Checkpoint) -> None:
    """Writes the folder's checkpoint atomically.

    Raises:
        TrainingError: the disk is full or refuses; the previous checkpoint is unchanged.
    """
    tensors = {name: tensor.detach().cpu() for name, tensor in checkpoint.tensors.items()}
    run, sums = json.dumps(checkpoint.run), json.dumps(_sums(tensors), sort_keys=True)
    metadata = {
        "format": str(FORMAT),
        "run": run,
        "tensors": sums,
        "sha256": _digest(run, sums),
    }
    partial = folder / PARTIAL
    try:
        save_file(tensors, partial, metadata=metadata)
        force_to_disk(partial)
        if (folder / CURRENT).exists():
            os.replace(folder / CURRENT, folder / PREVIOUS)
        os.replace(partial, folder / CURRENT)
        force_to_disk(folder)
    except (OSError, SafetensorError) as error:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)
        raise TrainingError(
            "the checkpoint could not be written.",
            got=str(error),
            do="free some space or correct the permissions, then run again with --resume; "
            "the checkpoint before this one is untouched",
            place=Place(folder),
        ) from error


def load(folder: Path) -> tuple[Checkpoint, str | None]:
    """The newest complete checkpoint, and a message for the user if a damaged one was skipped.

    The damaged file is renamed, so that the next save does not replace the good one with it.

    Raises:
        BundleError: there is none, or all are damaged.
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
        return checkpoint, f"{damage.place}: {damage.what} Continuing from {path.name}."
    if damage is not None:
        raise damage
    raise BundleError(
        "there is no checkpoint to resume from.",
        place=Place(folder),
        do="start from the beginning without --resume",
    )


def exists(folder: Path) -> bool:
    """Whether there is anything to resume from."""
    return any(True for _ in _candidates(folder))


def read(path: Path) -> Checkpoint:
    """One checkpoint file, checked tensor by tensor; the tensors are memory-mapped.

    Raises:
        BundleError: truncated, damaged, or of another format.
    """
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            if int(metadata["format"]) != FORMAT:
                raise _other_format(path, int(metadata["format"]))
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            text, sums = metadata["run"], metadata["tensors"]
            if _digest(text, sums) != metadata["sha256"]:
                raise _damaged(path, "the checksum of the run state does not match")
            run, written = json.loads(text), json.loads(sums)
    except (SafetensorError, OSError, KeyError, ValueError) as error:
        raise _damaged(path, str(error)) from error
    found = _sums(tensors)
    for name in sorted(written.keys() | found.keys()):
        if found.get(name) != written.get(name):
            raise _damaged(path, f"the checksum of {name!r} does not match")
    return Checkpoint(tensors, run)


def _other_format(path: Path, found: int) -> BundleError:
    newer = found > FORMAT
    return BundleError(
        f"the checkpoint is of {'a newer' if newer else 'an older'} format.",
        expected=f"format {FORMAT}",
        got=f"format {found}",
        do="update jumok"
        if newer
        else "finish the run with the jumok version that started it, or start a new run",
        place=Place(path),
    )


def _candidates(folder: Path) -> Iterator[Path]:
    return (path for path in (folder / CURRENT, folder / PREVIOUS) if path.exists())


def _damaged(path: Path, reason: str) -> BundleError:
    return BundleError(
        "the checkpoint is truncated or damaged.",
        got=reason,
        do="resume from an older copy, or start a new run under another name",
        place=Place(path),
    )


def _sums(tensors: Mapping[str, Tensor]) -> dict[str, list[object]]:
    """For each tensor, by name: dtype, shape and checksum of its bytes."""
    return {
        name: [str(tensor.dtype), list(tensor.shape), _crc32(tensor)]
        for name, tensor in tensors.items()
    }


def _digest(run: str, sums: str) -> str:
    return hashlib.sha256(f"{run}\0{sums}".encode()).hexdigest()


def _crc32(tensor: Tensor) -> int:
    return zlib.crc32(tensor.contiguous().view(-1).view(torch.uint8).numpy().data)
