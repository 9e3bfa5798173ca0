"""A model as the contents of WebAssembly's memory: the engine's structures, with 4-byte addresses.

The structures are those of `structures.py`; what changes is their layout, because an address has
4 bytes there and 8 here. Addresses count from the image's own beginning: the page adds where it
puts the image to each of the `addresses`.
"""

import ctypes
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from jumok.engine.packing import ALIGNMENT

POINTER = 4
SIMPLE = {ctypes.c_int64: "<q", ctypes.c_int32: "<i", ctypes.c_double: "<d", ctypes.c_float: "<f"}

Stored = Mapping[int, npt.NDArray[np.generic]]
"""The arrays of a model, by the addresses that its structures have."""


@dataclass
class MemoryImage:
    """What the page copies into the memory of the engine.

    Attributes:
        contents: the bytes; arrays begin at multiples of 64.
        addresses: where in them addresses are, each counted from the image's beginning.
    """

    contents: bytearray = field(default_factory=bytearray)
    addresses: list[int] = field(default_factory=list)

    def put(self, data: bytes, alignment: int = ALIGNMENT) -> int:
        """Adds these bytes; returns where they begin."""
        self.contents += bytes(-len(self.contents) % alignment)
        start = len(self.contents)
        self.contents += data
        return start


class ImageOf:
    """Writes structures, and what they point to, into an image.

    Args:
        lengths: by the name of a pointer to structures: the names of the fields beside it whose
            product is how many there are.
        absent: addresses whose arrays are left out: the page fills them in. Their fields hold 0.
        image: where to write; None: a new one.
    """

    def __init__(
        self,
        arrays: Stored,
        lengths: Mapping[str, Sequence[str]],
        absent: frozenset[int] = frozenset(),
        image: MemoryImage | None = None,
    ) -> None:
        self.image = MemoryImage() if image is None else image
        self._arrays, self._lengths, self._absent = arrays, lengths, absent
        self._placed: dict[bytes, int] = {}  # arrays with the same contents are one

    def add(self, structure: ctypes.Structure) -> int:
        """Adds a structure with all that it points to; returns where it begins."""
        return self._written([structure])

    def _written(self, structures: list[Any]) -> int:
        size, _ = layout_of(type(structures[0]))
        data = bytearray(size * len(structures))
        addresses: list[int] = []
        for number, each in enumerate(structures):
            self._fill(each, data, number * size, addresses)
        start = self.image.put(bytes(data))
        self.image.addresses += [start + place for place in addresses]
        return start

    def _fill(
        self, structure: ctypes.Structure, data: bytearray, base: int, addresses: list[int]
    ) -> None:
        for name, kind, offset in field_places(type(structure)):
            value, place = getattr(structure, name), base + offset
            if issubclass(kind, ctypes.Structure):
                self._fill(value, data, place, addresses)
            elif kind in SIMPLE:
                struct.pack_into(SIMPLE[kind], data, place, value)
            else:
                target = self._target(structure, name, value)
                if target is not None:
                    struct.pack_into("<I", data, place, target)
                    addresses.append(place)

    def _target(self, structure: ctypes.Structure, name: str, value: Any) -> int | None:
        """Where what a pointer points to begins in the image; None: it points to nothing there."""
        if name in self._lengths:
            count = prod(getattr(structure, each) for each in self._lengths[name])
            return self._written([value[i] for i in range(count)]) if count else None
        if not value or value in self._absent:
            return None
        data = self._arrays[value].tobytes()
        if data not in self._placed:
            self._placed[data] = self.image.put(data)
        return self._placed[data]


def layout_of(kind: type) -> tuple[int, int]:
    """The size and the alignment of a type, in bytes."""
    if issubclass(kind, ctypes.Structure):
        alignment = max(layout_of(each)[1] for _, each in _fields_of(kind))
        end = max(offset + layout_of(each)[0] for _, each, offset in field_places(kind))
        return end + -end % alignment, alignment
    size = struct.calcsize(SIMPLE[kind]) if kind in SIMPLE else POINTER
    return size, size


def field_places(structure: type[ctypes.Structure]) -> list[tuple[str, type, int]]:
    """The fields of a structure: name, type, and where each begins."""
    places, end = [], 0
    for name, kind in _fields_of(structure):
        size, alignment = layout_of(kind)
        start = end + -end % alignment
        places.append((name, kind, start))
        end = start + size
    return places


def _fields_of(structure: type[ctypes.Structure]) -> list[tuple[str, type]]:
    return [(each[0], each[1]) for each in structure._fields_]
