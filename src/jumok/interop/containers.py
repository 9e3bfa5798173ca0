"""Files of weights: which tensors are in a folder, and each of them. They know no families."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import is_zipfile

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from jumok.bundle.reading import read_json_object
from jumok.data.files.header import read_header
from jumok.errors import BundleError, Location

WEIGHTS, INDEX = "model.safetensors", "model.safetensors.index.json"
PICKLE = "pytorch_model.bin"
FILES = f"{WEIGHTS}, {INDEX} with its shards, or {PICKLE}"
WHOLE = "copy or download the whole folder again"

TensorShape = tuple[int, ...]


@dataclass(frozen=True)
class Container:
    """The tensors of a model.

    Attributes:
        folder: where its files are.
        shapes: of each tensor, by its name.
        files: the file of each tensor.
        load: reads one, as it is stored.
    """

    folder: Path
    shapes: Mapping[str, TensorShape]
    files: Mapping[str, Path]
    load: Callable[[str], Tensor]


def open_weights(folder: Path) -> Container:
    """The weights in a folder; of several files safetensors first.

    Raises:
        BundleError: there are none, a shard is missing, or a file is damaged or a pickle that runs
            code.
    """
    if (folder / WEIGHTS).is_file():
        return _of_files(folder, dict.fromkeys(_shapes(folder / WEIGHTS), folder / WEIGHTS))
    if (folder / INDEX).is_file():
        return _of_files(folder, _indexed(folder))
    if (folder / PICKLE).is_file():
        return open_pickle(folder / PICKLE)
    raise BundleError(
        "there are no weights in this folder.", expected=FILES, do=WHOLE, place=Location(folder)
    )


def _shapes(file: Path) -> dict[str, TensorShape]:
    try:
        return {name: entry.shape for name, entry in read_header(file).entries.items()}
    except (OSError, ValueError) as error:
        raise BundleError(
            "the weights cannot be read.", got=str(error), do=WHOLE, place=Location(file)
        ) from None


def of_safetensors(folder: Path, files: Sequence[Path]) -> Container:
    """All tensors of these files; a BundleError if one cannot be read, or two have the same."""
    return _of_files(folder, {name: file for file in files for name in _shapes(file)})


def _of_files(folder: Path, files: Mapping[str, Path]) -> Container:
    found = {file: _shapes(file) for file in sorted(set(files.values()))}
    for name, file in files.items():
        if name not in found[file]:
            raise BundleError(
                "the index names a tensor that its shard does not have.",
                got=name,
                do=WHOLE,
                place=Location(file),
            )
    for file, shapes in found.items():
        for name in shapes:
            if files.get(name) != file:
                raise BundleError(
                    "a shard has a tensor that the index does not have there.",
                    got=name,
                    do=WHOLE,
                    place=Location(file),
                )

    def load(name: str) -> Tensor:
        try:
            with safe_open(files[name], framework="pt") as stored:
                tensor: Tensor = stored.get_tensor(name)
        except (OSError, SafetensorError) as error:
            raise BundleError(
                "the weights cannot be read.",
                got=str(error),
                do=WHOLE,
                place=Location(files[name]),
            ) from None
        return tensor

    shapes = {name: found[file][name] for name, file in files.items()}
    return Container(folder, shapes, files, load)


def _indexed(folder: Path) -> dict[str, Path]:
    """The file of each tensor; all are in this folder."""
    place = Location(folder / INDEX)
    names = read_json_object(folder / INDEX).get("weight_map")
    if not isinstance(names, dict) or not names:
        raise BundleError("the index has no weight_map of names and files.", do=WHOLE, place=place)
    for name, shard in names.items():
        if (
            not isinstance(shard, str)
            or Path(shard).name != shard
            or not shard.endswith(".safetensors")
        ):
            raise BundleError(
                "a shard is not a safetensors file of this folder.",
                expected="a name such as model-00001-of-00002.safetensors",
                got=f"{name}: {shard!r}",
                do=WHOLE,
                place=place,
            )
        if not (folder / shard).is_file():
            raise BundleError(
                "a shard of the weights is missing.", got=shard, do=WHOLE, place=place
            )
    return {name: folder / shard for name, shard in names.items()}


def open_pickle(file: Path) -> Container:
    """A pickle of tensors alone; nothing else in it is made."""
    return of_tensors(file, read_pickle(file))


def read_pickle(file: Path, *allowed: type) -> Any:
    """What a pickle of torch holds: tensors, plain values, and objects of the allowed classes.

    Raises:
        BundleError: it is damaged, or has objects of other classes, none of which is made.
    """
    try:
        with torch.serialization.safe_globals(list(allowed)):
            return torch.load(file, map_location="cpu", weights_only=True, mmap=is_zipfile(file))
    except Exception as error:  # of the unpickler, which has many
        raise BundleError(
            "this pickle holds more than weights, or is damaged.",
            expected="tensors by their names",
            got=_unsafe_names(file, allowed) or str(error).split("\n")[0][:200],
            do="convert it to safetensors in a sandbox, or take a folder with model.safetensors",
            place=Location(file),
        ) from None


def _unsafe_names(file: Path, allowed: tuple[type, ...]) -> str:
    """The classes and functions that a pickle asks for; "" if they cannot be listed."""
    try:
        with torch.serialization.safe_globals(list(allowed)):
            return ", ".join(torch.serialization.get_unsafe_globals_in_checkpoint(file))[:200]
    except Exception:
        return ""


def of_tensors(file: Path, stored: object) -> Container:
    """Tensors by their names, which were read from a pickle; a BundleError if they are none."""
    if not isinstance(stored, dict) or not all(
        isinstance(name, str) and isinstance(tensor, Tensor) for name, tensor in stored.items()
    ):
        raise BundleError(
            "this pickle holds something else than tensors by their names.",
            do="take a folder with model.safetensors",
            place=Location(file),
        )
    tensors: dict[str, Tensor] = stored
    shapes = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
    return Container(file.parent, shapes, dict.fromkeys(tensors, file), tensors.__getitem__)
