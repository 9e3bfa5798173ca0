"""Marian's files: .bin and .npz, each with the model's settings inside, alone or in a folder.

A .bin holds u64 version, u64 count; for each tensor u64 length of name, type, rank and bytes; the
names; the shapes as i32; u64 padding and the padding; the data. Source: marian-dev,
src/common/binary.cpp.
"""

import json
import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from jumok.documents.trees import shallow_yaml
from jumok.engine.quantising import rounded
from jumok.errors import BundleError, Location
from jumok.interop.layouts.npz import Load, Shapes, names_in, read_archive
from jumok.interop.source import Source, SourceLayout

if TYPE_CHECKING:
    from jumok.interop.containers import Container

KIND = "marian-nmt"
SETTINGS = "special:model.yml"
LONGEST_SETTINGS = 1 << 16
VERSION = struct.pack("<Q", 1)
FLOATS = {0x404: "<f4", 0x402: "<f2"}
INTGEMM8, CHARACTERS = 0x4101, 0x101
LARGEST_RANK, PADDING = 8, 256
TABLE, UNUSED = "Wemb", "_QuantMultA"
"""The table of words, and the end of the names of scales that 8-bit inputs are multiplied with."""


@dataclass(frozen=True)
class _Stored:
    """A tensor in a .bin.

    Attributes:
        offset, size: where its bytes begin, and how many there are.
    """

    type: int
    shape: tuple[int, ...]
    offset: int
    size: int

    @property
    def count(self) -> int:
        return math.prod(self.shape)


def read(path: Path) -> Source:
    """The model in this file, or in this folder.

    Raises:
        BundleError: there are several, or the file is damaged, or of a newer kind.
    """
    file = path if path.is_file() else _only_model(path)
    reader = _read_archive if file.suffix == ".npz" else _read_binary
    settings, shapes, load = reader(file)
    config = _settings(settings, file)
    kind = f"{KIND} {config.get('type')}"
    named = f"a model of Marian ({config.get('type')})"
    return Source(path, kind, named, config, file, lambda: _container(file, shapes, load))


def _container(file: Path, shapes: Shapes, load: Load) -> "Container":
    import torch

    from jumok.interop.containers import Container

    kept = {name: shape for name, shape in shapes.items() if not name.endswith(UNUSED)}
    files = dict.fromkeys(kept, file)
    return Container(file.parent, kept, files, lambda name: torch.from_numpy(load(name)))


def _settings(content: bytes, file: Path) -> dict[str, object]:
    """The settings by their names: values, and lists of values."""
    if len(content) > LONGEST_SETTINGS:
        raise damaged(file, f"settings of more than {LONGEST_SETTINGS:,} bytes")
    yaml, fault = shallow_yaml()
    try:
        values = yaml.load(content.rstrip(b"\0").decode())
    except (fault, ValueError, RecursionError) as error:
        raise damaged(file, f"settings that are no YAML: {str(error)[:200]}") from None
    if not isinstance(values, dict):
        raise damaged(file, "settings that are no names and values")
    for name, value in values.items():
        flat = value if isinstance(value, list) else [value]
        if not isinstance(name, str) or any(isinstance(each, list | dict) for each in flat):
            raise damaged(file, f"a setting that is no value and no list of them: {name!s:.80}")
    return values


def is_model(path: Path) -> bool:
    """Whether this is a file of Marian's, as far as its beginning says."""
    try:
        if path.suffix == ".npz":
            return SETTINGS in names_in(path)
        with path.open("rb") as stream:
            return path.suffix == ".bin" and stream.read(len(VERSION)) == VERSION
    except OSError:
        return False


def _models(folder: Path) -> list[Path]:
    files = sorted([*folder.glob("*.bin"), *folder.glob("*.npz")])
    return [file for file in files if file.is_file() and is_model(file)]


def _only_model(folder: Path) -> Path:
    files = _models(folder)
    if len(files) > 1:
        raise BundleError(
            "there are several models in this folder.",
            got=", ".join(file.name for file in files[:5]),
            do="give the file of one of them",
            place=Location(folder),
        )
    return files[0]


def _read_binary(file: Path) -> tuple[bytes, Shapes, Load]:
    with file.open("rb") as stream:
        entries = _entries(stream, file)
        characters = entries.pop(SETTINGS, None)
        if characters is None:
            raise damaged(file, f"no {SETTINGS}")
        stream.seek(characters.offset)
        settings = stream.read(min(characters.size, LONGEST_SETTINGS + 1))
    for name, entry in entries.items():
        if entry.type not in FLOATS and entry.type != INTGEMM8:
            raise BundleError(
                "this model has a tensor of another type.",
                expected="float32, float16, or 8-bit integers for any processor (intgemm8)",
                got=f"{name}: type {entry.type:#x}",
                do="get the model as it was before it was packed for one kind of processor",
                place=Location(file),
            )
    shapes = {name: entry.shape for name, entry in entries.items()}
    return settings, shapes, lambda name: _load(file, name, entries[name])


def _entries(stream: IO[bytes], file: Path) -> dict[str, _Stored]:
    """What the header says, once it is known to fit the file."""
    end = file.stat().st_size

    def take(size: int, what: str) -> bytes:
        if not 0 <= size <= end - stream.tell():
            raise damaged(file, f"{what} of {size:,} bytes in a file of {end:,}")
        return stream.read(size)

    count = struct.unpack("<QQ", take(16, "a header"))[1]
    words = struct.unpack(f"<{4 * count}Q", take(32 * count, "a header"))
    heads = [words[at : at + 4] for at in range(0, len(words), 4)]
    names = [take(head[0], "a name").rstrip(b"\0").decode("utf-8", "replace") for head in heads]
    shapes = []
    for name, (_, _, rank, _) in zip(names, heads, strict=True):
        if rank > LARGEST_RANK:
            raise damaged(file, f"{name}: {rank:,} axes")
        shapes.append(struct.unpack(f"<{rank}i", take(4 * rank, "a shape")))
    take(struct.unpack("<Q", take(8, "a padding"))[0], "a padding")
    entries: dict[str, _Stored] = {}
    offset = stream.tell()
    for name, (_, type_, _, size), shape in zip(names, heads, shapes, strict=True):
        entry = _Stored(type_, shape, offset, size)
        _check(entry, name, file)
        if name in entries:
            raise damaged(file, f"{name} is there twice")
        entries[name] = entry
        offset += size
    if offset != end:
        raise damaged(file, f"{end:,} bytes instead of {offset:,}")
    return entries


def _check(entry: _Stored, name: str, file: Path) -> None:
    """The bytes are those of the shape, and of the scale, filled up to a multiple of PADDING."""
    if min(entry.shape, default=1) < 1:
        raise damaged(file, f"{name}: a shape of {' x '.join(map(str, entry.shape))}")
    width = {INTGEMM8: 1, CHARACTERS: 1}.get(entry.type, entry.type & 0xFF)
    needed = entry.count * width + 4 * (entry.type == INTGEMM8)
    if not needed <= entry.size <= needed + PADDING:
        raise damaged(file, f"{name}: {entry.size:,} bytes instead of {needed:,}")


def _load(file: Path, name: str, entry: _Stored) -> npt.NDArray[np.generic]:
    """Integers are transposed, but for the table of words, and times one scale."""
    if entry.type in FLOATS:
        stored = np.fromfile(file, FLOATS[entry.type], entry.count, offset=entry.offset)
        return stored.reshape(entry.shape)
    integers = np.fromfile(file, "<i1", entry.count, offset=entry.offset)
    scale = np.fromfile(file, "<f4", 1, offset=entry.offset + entry.count)[0]
    if not (np.isfinite(scale) and scale > 0):
        raise damaged(file, f"{name}: a scale of {scale}")
    values = integers.astype(np.float32) / scale
    if name.endswith(TABLE):
        return values.reshape(entry.shape)
    return values.reshape(entry.shape[::-1]).T


def write_binary(
    file: Path,
    tensors: Mapping[str, npt.NDArray[np.float32]],
    settings: Mapping[str, object],
    scales: Mapping[str, float],
    draw: int = 0,
) -> None:
    """Writes a .bin.

    Args:
        tensors: of two axes.
        scales: of the matrices that become 8-bit integers, the scale of their inputs.
        draw: the seed of what is rounded at random (`jumok.engine.quantising`).
    """
    items = {name: _floats(tensor) for name, tensor in tensors.items() if name not in scales}
    for name, scale in scales.items():
        value, table = np.full((1, 1), scale, np.float32), name == TABLE
        items[name] = _integers(tensors[name], draw, turned=not table)
        items[f"{name}{UNUSED}"] = _integers(value, draw, turned=False) if table else _floats(value)
        if table:  # of the rows that a list of likely words leaves of it
            items[f"none{UNUSED}"] = _floats(value)
    content = _yaml_of(settings) + b"\0"
    items = dict(sorted(items.items())) | {SETTINGS: (CHARACTERS, (len(content),), content)}
    with file.open("wb") as stream:
        stream.write(VERSION + struct.pack("<Q", len(items)))
        for name, (type_, shape, data) in items.items():
            stream.write(struct.pack("<4Q", len(name) + 1, type_, len(shape), len(data)))
        stream.writelines(name.encode() + b"\0" for name in items)
        for _, shape, _ in items.values():
            stream.write(struct.pack(f"<{len(shape)}i", *shape))
        padding = -(stream.tell() + 8) % PADDING
        stream.write(struct.pack("<Q", padding) + bytes(padding))
        stream.writelines(data for *_, data in items.values())


_Item = tuple[int, tuple[int, ...], bytes]
"""The type, shape and bytes of a tensor."""


def _floats(tensor: npt.NDArray[np.float32]) -> _Item:
    data = tensor.astype("<f4").tobytes()
    return 0x404, tensor.shape, data + bytes(-len(data) % PADDING)


def _integers(tensor: npt.NDArray[np.float32], draw: int, *, turned: bool) -> _Item:
    """Source: marian-dev, src/command/marian_conv.cpp; the largest number becomes 127."""
    scale = np.float32(127.0) / (np.abs(tensor).max() or np.float32(1.0))
    steps = ((tensor.T if turned else tensor) * scale).astype(np.float32, copy=False)
    data = rounded(steps, draw).astype("<i1").tobytes() + np.float32(scale).astype("<f4").tobytes()
    return INTGEMM8, tensor.shape, data + bytes(-len(data) % PADDING)


def _yaml_of(settings: Mapping[str, object]) -> bytes:
    """As Marian writes it: values that are texts, numbers or lists of them."""

    def written(value: object) -> str:
        if isinstance(value, list):
            return "".join(f"\n  - {each}" for each in value) or " []"
        return f" {json.dumps(value)}" if isinstance(value, bool) or value == "" else f" {value}"

    return "\n".join(f"{key}:{written(settings[key])}" for key in sorted(settings)).encode()


def _read_archive(file: Path) -> tuple[bytes, Shapes, Load]:
    archive = read_archive(file, damaged, (SETTINGS,), LONGEST_SETTINGS + 1)
    if SETTINGS not in archive.bytes:
        raise damaged(file, f"no {SETTINGS}")
    return archive.bytes[SETTINGS], archive.shapes, archive.load


def damaged(file: Path, what: str) -> BundleError:
    """The error for a file that is not what its header says."""
    return BundleError(
        "this model of Marian is damaged.",
        got=what,
        do="copy or download it again",
        place=Location(file),
    )


MARIAN_FILES = SourceLayout(
    "a model of Marian: model.*.bin or .npz with its vocabulary (.spm) beside it",
    lambda path: is_model(path) if path.is_file() else path.is_dir() and bool(_models(path)),
    read,
)
