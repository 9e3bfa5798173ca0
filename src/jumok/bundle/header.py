"""The header of a safetensors file: which tensors it holds."""

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, Field, TypeAdapter

from jumok.errors import BundleError, Place

LONGEST_HEADER = 100_000_000
"""Bytes, as in safetensors itself."""


Edge = Annotated[int, Field(ge=0, lt=2**48)]


class Entry(BaseModel):
    """The entry of one tensor in the header of a safetensors file."""

    dtype: Literal["F64", "F32", "F16", "BF16", "I64", "I32", "I16", "I8", "U8", "BOOL"]
    shape: tuple[Edge, ...]
    data_offsets: tuple[Edge, Edge]

    @property
    def size(self) -> int:
        """Bytes, by type and shape."""
        return math.prod(self.shape) * SIZES[self.dtype]


SIZES = {
    "F64": 8,
    "I64": 8,
    "F32": 4,
    "I32": 4,
    "F16": 2,
    "BF16": 2,
    "I16": 2,
    "I8": 1,
    "U8": 1,
    "BOOL": 1,
}
ENTRIES = TypeAdapter(dict[str, Entry])


@dataclass(frozen=True)
class StoredTensor:
    """A tensor of model.safetensors, by its header alone."""

    shape: tuple[int, ...]
    dtype: str


def read_header(file: Path) -> dict[str, StoredTensor]:
    """The tensors that the header of a safetensors file lists, once the file's size is checked.

    Source: the format is 8 bytes of header length, the header in JSON, and the data.

    Raises:
        BundleError: not safetensors, or truncated.
    """
    size = file.stat().st_size
    with file.open("rb") as stream:
        length = int.from_bytes(stream.read(8), "little")
        header = stream.read(length) if 0 < length <= min(size - 8, LONGEST_HEADER) else b""
    try:
        told = json.loads(header)
        entries = ENTRIES.validate_python({name: told[name] for name in told if name[:2] != "__"})
        for name, entry in entries.items():
            if entry.size != entry.data_offsets[1] - entry.data_offsets[0]:
                raise ValueError(f"{name} has another size than its type and shape")
        needed = 8 + length + max(entry.data_offsets[1] for entry in entries.values())
    except (ValueError, TypeError, RecursionError) as error:
        raise BundleError(
            "this is not a safetensors file, or its header is cut off.",
            place=Place(file),
            do="get an undamaged copy of the bundle",
        ) from error
    if size != needed:
        raise BundleError(
            "the weights are cut off." if size < needed else "the weights have bytes left over.",
            place=Place(file),
            expected=f"{needed:,} bytes, by its own header",
            got=f"{size:,} bytes",
            do="copy or download the bundle again",
        )
    return {name: StoredTensor(entry.shape, entry.dtype) for name, entry in entries.items()}
