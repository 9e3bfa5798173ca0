"""The header of a safetensors file: its tensors, where they are, and its metadata."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import BaseModel, Field, TypeAdapter

LONGEST_HEADER = 100_000_000
"""Bytes, as in safetensors itself."""

SIZES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "I16": 2, "I8": 1} | {
    "U64": 8, "U32": 4, "U16": 2, "U8": 1, "BOOL": 1
}  # fmt: skip
"""Bytes of a number of each type."""
DTYPES: dict[str, np.dtype[np.generic]] = {
    name: np.dtype("?" if name == "BOOL" else f"<{name[0].lower()}{size}")
    for name, size in SIZES.items()
    if name != "BF16"
}
"""The types that numpy has."""

_Edge = Annotated[int, Field(ge=0, lt=2**48)]


class Entry(BaseModel, frozen=True):
    """A tensor; `data_offsets` count from the end of the header."""

    dtype: str
    shape: tuple[_Edge, ...]
    data_offsets: tuple[_Edge, _Edge]


_ENTRIES = TypeAdapter(dict[str, Entry])
_METADATA = TypeAdapter(dict[str, str])


@dataclass(frozen=True)
class Header:
    """The tensors by their names, the metadata, and where the data start in the file."""

    entries: Mapping[str, Entry]
    metadata: Mapping[str, str]
    start: int


def read_header(file: Path) -> Header:
    """The header, once the file's size is checked.

    The format is 8 bytes of header length, the header in JSON, and the data.

    Raises:
        ValueError: no safetensors, or of another size than the header says.
        OSError: it cannot be read.
    """
    size = file.stat().st_size
    with file.open("rb") as stream:
        length = int.from_bytes(stream.read(8), "little")
        header = stream.read(length) if 0 < length <= min(size - 8, LONGEST_HEADER) else b""
    try:
        described = json.loads(header)
        metadata = _METADATA.validate_python(described.pop("__metadata__", {}))
        entries = _ENTRIES.validate_python(described)
        for name, entry in entries.items():
            first, end = entry.data_offsets
            if end - first != math.prod(entry.shape) * SIZES[entry.dtype]:
                raise ValueError(f"{name} has another size than its type and shape")
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError("this is not a safetensors file, or its header is cut off") from error
    needed = 8 + length + max((entry.data_offsets[1] for entry in entries.values()), default=0)
    if size != needed:
        lack = "they are cut off" if size < needed else "there are bytes left over"
        raise ValueError(f"{size:,} bytes instead of {needed:,}, by its own header: {lack}")
    return Header(entries, metadata, 8 + length)
