"""Checkpoints: the state for an exact resume, in a slice for each process and an index.

A slice is a safetensors file with what one process has of each tensor; the index is a JSON file
with the rest of the run's state, the ranges in each slice and its digest. All slices are forced to
the disk before the first process renames the index, so a checkpoint is complete or not there. The
previous one stays as `checkpoint.previous.json`. Any number of processes can read a checkpoint.
"""

import contextlib
import hashlib
import json
import os
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from jumok.data.files.atomic import force_to_disk
from jumok.errors import BundleError, Location, TrainingError
from jumok.json_types import JsonObject
from jumok.shapes import Tensor
from jumok.training.optimization.slices import Range
from jumok.training.ranks import SINGLE_PROCESS, Ranks, all_gather_object

CURRENT = "checkpoint.json"
PREVIOUS = "checkpoint.previous.json"
DAMAGED = "checkpoint.damaged.json"
PARTIAL = "checkpoint.partial"
SLICES = "checkpoint-*-of-*.safetensors"
UNNAMED = ".tmp??????"  # the temporary file of safetensors
BEFORE_SLICES = "checkpoint.safetensors", "checkpoint.previous.safetensors"
CHECKPOINT_FORMAT = 3  # 2 was one file, 3 has slices, and the block of each corpus in the cursor

WantedRanges = Callable[[str], Sequence[Range] | None]
"""By the name of a tensor the ranges of the row that are wanted; None: the whole tensor."""


@dataclass(frozen=True)
class Checkpoint:
    """The state of one process, or of the whole run.

    Attributes:
        run: the rest of the state as JSON values; "recipe" is its fingerprint, with "progress".
        ranges: by name, the elements that a tensor holds of a row that all processes share. A
            tensor that is not named here is the same in all processes.
    """

    tensors: Mapping[str, Tensor]
    run: JsonObject
    ranges: Mapping[str, Sequence[Range]] = field(default_factory=dict)

    @property
    def identity(self) -> JsonObject:
        """What all slices of this checkpoint have, and those of no other."""
        return {"recipe": self.run["recipe"], "step": self.run["progress"]["step"]}


@dataclass(frozen=True)
class _Slice:
    """A slice as the index knows it; `sha256` is that of its checksums."""

    file: str
    sha256: str
    ranges: Mapping[str, Sequence[Range]]

    @classmethod
    def of(cls, values: JsonObject) -> "_Slice":
        ranges = {
            name: [(start, end) for start, end in some] for name, some in values["ranges"].items()
        }
        return cls(values["file"], values["sha256"], ranges)

    def has(self, wanted: WantedRanges) -> bool:
        return any(
            list(_overlaps(self.ranges[name], wanted(name) or self.ranges[name]))
            for name in self.ranges
        )


def save(folder: Path, checkpoint: Checkpoint, ranks: Ranks = SINGLE_PROCESS) -> None:
    """Writes the folder's checkpoint atomically; all processes call it, each with its own state.

    Raises:
        TrainingError: a disk is full or refuses; the previous checkpoint is unchanged.
    """
    try:
        outcome: JsonObject = {"slice": vars(_write_slice(folder, checkpoint, ranks))}
    except (OSError, SafetensorError) as error:
        outcome = {"refused": str(error) if ranks.count == 1 else f"rank {ranks.index}: {error}"}
    outcomes = all_gather_object(ranks, outcome)
    for rank_outcome in outcomes:
        if "refused" in rank_outcome:
            raise _not_written(folder, rank_outcome["refused"])
    if ranks.index == 0:
        try:
            _write_index(
                folder, checkpoint.run, [rank_outcome["slice"] for rank_outcome in outcomes]
            )
        except OSError as error:
            with contextlib.suppress(OSError):
                (folder / PARTIAL).unlink(missing_ok=True)
            raise _not_written(folder, str(error)) from error
        with contextlib.suppress(OSError):  # they are removed after the next checkpoint
            remove_unused(folder)


def _write_slice(folder: Path, checkpoint: Checkpoint, ranks: Ranks) -> _Slice:
    tensors = {name: tensor.detach().cpu() for name, tensor in checkpoint.tensors.items()}
    identity = json.dumps(checkpoint.identity, sort_keys=True)
    sums = json.dumps(_sums(tensors), sort_keys=True)
    digest = _slice_digest(identity, sums)
    metadata = {"format": str(CHECKPOINT_FORMAT), "of": identity, "tensors": sums, "sha256": digest}
    step = checkpoint.identity["step"]
    name = f"checkpoint-{step:06}-{ranks.index + 1}-of-{ranks.count}.safetensors"
    partial = folder / f"{PARTIAL}-{ranks.index}"
    try:
        save_file(tensors, partial, metadata=metadata)
        force_to_disk(partial)
        os.replace(partial, folder / name)
        force_to_disk(folder)
    except (OSError, SafetensorError):
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)
        raise
    return _Slice(name, digest, checkpoint.ranges)


def _write_index(folder: Path, run: JsonObject, slices: Sequence[JsonObject]) -> None:
    content = {"format": CHECKPOINT_FORMAT, "run": run, "slices": slices}
    text = json.dumps(content | {"sha256": _index_digest(content)}, indent=1) + "\n"
    partial = folder / PARTIAL
    partial.write_text(text, encoding="utf-8")
    force_to_disk(partial)
    if (folder / CURRENT).exists():
        os.replace(folder / CURRENT, folder / PREVIOUS)
    os.replace(partial, folder / CURRENT)
    force_to_disk(folder)


def remove_unused(folder: Path) -> None:
    """Removes the slices that no index names, of killed processes and of replaced checkpoints; none
    if an index cannot be read.
    """
    used = set()
    for path in (folder / CURRENT, folder / PREVIOUS, folder / DAMAGED):
        try:
            used |= {entry["file"] for entry in json.loads(path.read_text("utf-8"))["slices"]}
        except FileNotFoundError:
            continue
        except (ValueError, LookupError, TypeError):
            if path.name != DAMAGED:
                return
    for path in folder.glob(SLICES):
        if path.name not in used:
            path.unlink(missing_ok=True)


def load(
    folder: Path, wanted: WantedRanges | None = None, ranks: Ranks = SINGLE_PROCESS
) -> tuple[Checkpoint, str | None]:
    """The newest complete checkpoint, and a message for the user if a damaged one was skipped.

    All processes call it. What one of them finds damaged, none of them uses, and its index is
    renamed, so that the next save does not replace the good one with it.

    Args:
        wanted: what this process needs of each tensor; None: everything.

    Raises:
        BundleError: there is none, or all are damaged.
    """
    damage: BundleError | None = None
    for path in list(_candidates(folder)):
        checkpoint, own_damage = None, None
        try:
            checkpoint = read(path, wanted, ranks)
        except BundleError as error:
            own_damage = error
        reports = [
            report["damage"]
            for report in all_gather_object(ranks, {"damage": _as_json(own_damage)})
        ]
        damages = [_from_json(report) for report in reports if report]
        if damages or checkpoint is None:
            damage = damage or own_damage or damages[0]
            continue
        if damage is None:
            return checkpoint, None
        if ranks.index == 0:
            os.replace(folder / CURRENT, folder / DAMAGED)
        return checkpoint, f"{damage.place}: {damage.what} Continuing from {path.name}."
    if damage is not None:
        raise damage
    raise BundleError(
        "there is no checkpoint to resume from.",
        place=Location(folder),
        do="start from the beginning without --resume",
    )


def exists(folder: Path) -> bool:
    """Whether there is anything to resume from."""
    return any(True for _ in _candidates(folder))


def read(
    path: Path, wanted: WantedRanges | None = None, ranks: Ranks = SINGLE_PROCESS
) -> Checkpoint:
    """One checkpoint by its index, its slices checked tensor by tensor.

    Args:
        wanted: what this process needs of each tensor; None: everything.
        ranks: each reads the slices that it needs, and every slice is read by one.

    Raises:
        BundleError: it is damaged, incomplete or of another format.
    """
    run, slices = _read_index(path)
    identity = Checkpoint({}, run).identity
    same: dict[str, Tensor] = {}
    parts: dict[str, list[tuple[Range, Tensor]]] = {}
    for number, one in enumerate(slices):
        mine = number % ranks.count == ranks.index or number == ranks.index % len(slices)
        if not (mine or wanted is None or one.has(wanted)):
            continue
        for name, tensor in _read_slice(path, one, identity).items():
            if name not in one.ranges:
                same.setdefault(name, tensor)
                continue
            pieces = parts.setdefault(name, [((0, 0), tensor[:0])])
            needed = one.ranges[name] if wanted is None else wanted(name)
            for piece, window in _overlaps(one.ranges[name], needed or one.ranges[name]):
                pieces.append((piece, tensor[window].clone()))
    joined = {
        name: torch.cat([part for _, part in sorted(pieces, key=lambda each: each[0])])
        for name, pieces in parts.items()
    }
    return Checkpoint(same | joined, run)


def _read_index(path: Path) -> tuple[JsonObject, list[_Slice]]:
    if path.name in BEFORE_SLICES:
        raise _other_format(path, 2)
    try:
        content = json.loads(path.read_bytes())
        if int(content["format"]) != CHECKPOINT_FORMAT:
            raise _other_format(path, int(content["format"]))
        if _index_digest(content) != content["sha256"]:
            raise _damaged_checkpoint(path, "the checksum of the run state does not match")
        return content["run"], [_Slice.of(entry) for entry in content["slices"]]
    except (OSError, KeyError, ValueError, TypeError, AttributeError) as error:
        raise _damaged_checkpoint(path, str(error)) from error


def _read_slice(index: Path, one: _Slice, identity: JsonObject) -> dict[str, Tensor]:
    path = index.parent / Path(one.file).name
    if not path.exists():
        raise BundleError(
            "a slice of the checkpoint is missing.",
            got=f"{index.name} names it, with those of the other processes",
            do="put it back: all processes need the same folder; or resume from an older copy, "
            "or start a new run under another name",
            place=Location(path),
        )
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            if int(metadata["format"]) != CHECKPOINT_FORMAT:
                raise _other_format(path, int(metadata["format"]))
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            text, sums = metadata["of"], metadata["tensors"]
            if _slice_digest(text, sums) != metadata["sha256"]:
                raise _damaged_checkpoint(path, "the checksum of the slice does not match")
            own_identity, written = json.loads(text), json.loads(sums)
    except (SafetensorError, OSError, KeyError, ValueError) as error:
        raise _damaged_checkpoint(path, str(error)) from error
    if own_identity != identity or metadata["sha256"] != one.sha256:
        raise _of_another(path, index, own_identity, identity)
    sums_read = _sums(tensors)
    for name in sorted(written.keys() | tensors.keys()):
        if sums_read.get(name) != written.get(name):
            raise _damaged_checkpoint(path, f"the checksum of {name!r} does not match")
    return tensors


def _overlaps(have: Sequence[Range], need: Sequence[Range]) -> Iterator[tuple[Range, slice]]:
    at = 0
    for first, end in have:
        for start, last in need:
            both = max(first, start), min(end, last)
            if both[0] < both[1]:
                yield both, slice(at + both[0] - first, at + both[1] - first)
        at += end - first


def _not_written(folder: Path, got: str) -> TrainingError:
    return TrainingError(
        "the checkpoint could not be written.",
        got=got,
        do="free some space or correct the permissions, then run again with --resume; "
        "the checkpoint before this one is untouched",
        place=Location(folder),
    )


def _of_another(path: Path, index: Path, identity: JsonObject, expected: JsonObject) -> BundleError:
    if identity.get("recipe") != expected["recipe"]:
        got = "a slice of a run with a different recipe"
    else:
        got = f"a slice of step {identity.get('step')}"
        got += ", written another time" if identity == expected else ""
    return BundleError(
        "a slice does not belong to the checkpoint.",
        expected=f"the slice of step {expected['step']} that {index.name} names",
        got=got,
        do="put the run's own slice back, or resume from an older copy, or start a new run under "
        "another name",
        place=Location(path),
    )


def _other_format(path: Path, version: int) -> BundleError:
    newer = version > CHECKPOINT_FORMAT
    return BundleError(
        f"the checkpoint is of {'a newer' if newer else 'an older'} format.",
        expected=f"format {CHECKPOINT_FORMAT}",
        got=f"format {version}",
        do="update jumok"
        if newer
        else "finish the run with the jumok version that started it, or start a new run",
        place=Location(path),
    )


def _candidates(folder: Path) -> Iterator[Path]:
    names = CURRENT, PREVIOUS, *BEFORE_SLICES
    return (folder / name for name in names if (folder / name).exists())


def _damaged_checkpoint(path: Path, reason: str) -> BundleError:
    return BundleError(
        "the checkpoint is truncated or damaged.",
        got=reason,
        do="resume from an older copy, or start a new run under another name",
        place=Location(path),
    )


def _as_json(error: BundleError | None) -> JsonObject | None:
    if error is None:
        return None
    place = None if error.place is None else str(error.place)
    return {"what": error.what, "got": error.got, "do": error.do, "place": place}


def _from_json(values: JsonObject) -> BundleError:
    place = None if values["place"] is None else Location(values["place"])
    return BundleError(values["what"], got=values["got"], do=values["do"], place=place)


def _sums(tensors: Mapping[str, Tensor]) -> dict[str, list[object]]:
    return {
        name: [
            str(tensor.dtype),
            list(tensor.shape),
            zlib.crc32(tensor.contiguous().view(-1).view(torch.uint8).numpy().data),
        ]
        for name, tensor in tensors.items()
    }


def _slice_digest(identity: str, sums: str) -> str:
    return hashlib.sha256(f"{identity}\0{sums}".encode()).hexdigest()


def _index_digest(content: Mapping[str, object]) -> str:
    rest = {key: value for key, value in content.items() if key != "sha256"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()
