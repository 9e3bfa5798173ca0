"""GGUF files: a header of keys and values, then tensors in blocks of few bits.

Source: ggml/docs/gguf.md (llama.cpp), versions 2 and 3, little-endian.
"""

import mmap
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jumok.errors import BundleError, Location
from jumok.interop.gguf_tensor import GgufTensor
from jumok.interop.source import Source, SourceLayout

if TYPE_CHECKING:
    from jumok.interop.containers import Container

MAGIC, VERSIONS = b"GGUF", (2, 3)
LARGEST_HEADER, LONGEST_ARRAY, MOST_AXES = 1 << 28, 1 << 22, 4
NUMBERS = dict(enumerate(("B", "b", "H", "h", "I", "i", "f", "?"))) | {10: "Q", 11: "q", 12: "d"}
"""The formats of `struct` of the types of values."""
STRING, ARRAY = 8, 9
DESCRIPTIONS = "general."
"""What keys that only describe the model begin with."""
FACTORS = "rope_freqs.weight"
"""A tensor that is a setting: by how much longer the wave of each pair of a head is."""


@dataclass(frozen=True)
class GgufHeader:
    """What a file says of itself."""

    values: dict[str, Any]
    tensors: dict[str, GgufTensor]


class _Reader:
    """Reads a header from its begin; a ValueError if it is longer than the file, or damaged."""

    def __init__(self, data: mmap.mmap) -> None:
        self._data, self.place = data, 0
        self._end = min(len(data), LARGEST_HEADER)

    def take(self, count: int) -> bytes:
        if count > self._end - self.place:
            raise ValueError(f"it ends, or is too long, at byte {self.place:,}")
        self.place += count
        return self._data[self.place - count : self.place]

    def number(self, form: str) -> Any:
        (found,) = struct.unpack(f"<{form}", self.take(struct.calcsize(f"<{form}")))
        return found

    def text(self) -> str:
        return self.take(self.number("Q")).decode()

    def value(self, kind: int) -> Any:
        if kind == STRING:
            return self.text()
        if kind == ARRAY:
            inner, count = self.number("I"), self.number("Q")
            if count > LONGEST_ARRAY:
                raise ValueError(f"an array of {count:,} values at byte {self.place:,}")
            if inner == STRING:
                return [self.text() for _ in range(count)]
            if inner in NUMBERS:
                form = f"<{count}{NUMBERS[inner]}"
                return list(struct.unpack(form, self.take(struct.calcsize(form))))
            kind = inner
        if kind not in NUMBERS:
            raise ValueError(f"a value of the unknown type {kind} at byte {self.place:,}")
        return self.number(NUMBERS[kind])

    def tensor(self) -> GgufTensor:
        axes = self.number("I")
        if not 1 <= axes <= MOST_AXES:
            raise ValueError(f"a tensor of {axes} axes at byte {self.place:,}")
        sizes = [self.number("Q") for _ in range(axes)]
        return GgufTensor(tuple(reversed(sizes)), self.number("I"), self.number("Q"))


def read_header(file: Path) -> GgufHeader:
    """The header of a file.

    Raises:
        BundleError: it is damaged, or a version that is not read.
    """
    try:
        with (
            file.open("rb") as stream,
            mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data,
        ):
            return _header(_Reader(data))
    except (OSError, ValueError, struct.error) as error:
        raise BundleError(
            "this GGUF file cannot be read.", got=str(error),
            do="get an undamaged copy of the file", place=Location(file),
        ) from None  # fmt: skip


def _header(reader: _Reader) -> GgufHeader:
    if reader.take(len(MAGIC)) != MAGIC:
        raise ValueError("it does not begin with GGUF")
    version = reader.number("I")
    if version not in VERSIONS:
        raise ValueError(f"version {version} (2 and 3 are read, little-endian)")
    count, keys = reader.number("Q"), reader.number("Q")
    values: dict[str, Any] = {}
    for _ in range(keys):
        key = reader.text()
        if key in values:
            raise ValueError(f"{key} is there twice")
        values[key] = reader.value(reader.number("I"))
    tensors: dict[str, GgufTensor] = {}
    for _ in range(count):
        name = reader.text()
        if name in tensors:
            raise ValueError(f"the tensor {name} is there twice")
        tensors[name] = reader.tensor()
    alignment = values.get("general.alignment", 32)
    if not isinstance(alignment, int) or not 1 <= alignment <= 1 << 20:
        raise ValueError(f"general.alignment = {alignment}")
    begin = reader.place + -reader.place % alignment
    placed = {
        name: GgufTensor(each.shape, each.kind, begin + each.begin)
        for name, each in tensors.items()
    }
    return GgufHeader(values, placed)


def read(file: Path) -> Source:
    """The model in a file: its kind is "gguf" and its architecture, whose name its keys are freed
    from; those that only describe it are left out, and FACTORS is one more key.
    """
    header = read_header(file)
    name = str(header.values.get("general.architecture", ""))[:80]
    config = {
        key.removeprefix(f"{name}."): value
        for key, value in header.values.items()
        if not key.startswith(DESCRIPTIONS)
    }

    tokens = header.values.get("tokenizer.ggml.tokens")
    if isinstance(tokens, list):  # older files do not say how many there are
        config.setdefault("vocab_size", len(tokens))
    tensors = dict(header.tensors)

    def weights() -> "Container":
        from jumok.interop.quantised import open_gguf

        return open_gguf(file, tensors)

    if FACTORS in tensors and tensors[FACTORS].elements <= LONGEST_ARRAY:
        config[FACTORS] = weights().load(FACTORS).tolist()
        del tensors[FACTORS]

    named = f"a GGUF file of the architecture {name or 'without a name'}"
    return Source(file, f"gguf {name}", named, config, file, weights)


def _detects(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as stream:
        return stream.read(len(MAGIC)) == MAGIC


GGUF = SourceLayout("a GGUF file", _detects, read)
