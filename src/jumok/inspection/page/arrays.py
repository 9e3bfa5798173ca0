"""Numeric forms and byte layout of a page's arrays.

A page that is served, or that a notebook shows, has them in base64 between the other data. A saved
page has them in compressed parts, of which the first one is enough to draw the first picture.
"""

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

Form = Literal["f32", "u16", "u8"]
"""How weights travel: as they are, or as steps from 0 to 1."""

Kind = Literal["f32", "u16", "u8", "bits", "s16", "apart"]
"""What else an array may be: "bits"; "s16", whole steps, which are a power of two for each row of
the last axis; "apart", by how many of 65,535 steps a weight differs from the one that its vectors
give (`jumok.inspection.page.recomputed_weights`)."""

STEPS: dict[Form, tuple[str, int]] = {"u16": ("<u2", 65_535), "u8": ("|u1", 255)}

LARGEST_S16 = 32_767
"""The largest whole number of "s16"."""

PART_BYTES = 1 << 20
"""The arrays of several sites share a part of a saved page up to this size."""

WHOLE_BYTES = 4 << 20
"""A saved page with fewer bytes of arrays has one part: it is drawn once, and not twice."""


@dataclass(frozen=True)
class PageArray:
    """An array as a page holds it.

    Attributes:
        kind: what its bytes are.
        items: the numbers as they are stored, little-endian.
        powers: of "s16" for each row the exponent of its step.
    """

    kind: Kind
    shape: tuple[int, ...]
    items: npt.NDArray[np.generic]
    powers: npt.NDArray[np.int8] | None = None

    @property
    def planes(self) -> bytes:
        """The first bytes of all numbers, then their second bytes: they compress better apart."""
        items = np.ascontiguousarray(self.items)
        return items.view(np.uint8).reshape(-1, items.itemsize).T.tobytes()


def exact(array: npt.NDArray[np.floating]) -> PageArray:
    """The numbers as float32."""
    return PageArray("f32", array.shape, array.astype("<f4"))


def permitted(array: npt.NDArray[np.generic]) -> PageArray:
    """True and false as bits, eight in a byte."""
    return PageArray("bits", array.shape, np.packbits(array.astype(np.bool_)))


def shares(array: npt.NDArray[np.floating], form: Form) -> PageArray:
    """Weights from 0 to 1, as whole steps unless they are to be exact."""
    if form == "f32":
        return exact(array)
    kind, most = STEPS[form]
    return PageArray(form, array.shape, np.rint(array.clip(0, 1) * most).astype(kind))


def rounded(array: npt.NDArray[np.floating]) -> PageArray:
    """16 bits for each number: half a step is at most 1/32,767 of the row's largest number.

    A step is a power of two, so that products of whole numbers are exact. What is not finite is
    sent as it is.
    """
    if not np.isfinite(array).all():
        return exact(array)
    most = np.abs(array).max(axis=-1, initial=0.0).astype(np.float64)
    powers = (
        np.ceil(np.log2(np.maximum(most, 2.0**-100) / LARGEST_S16)).clip(-128, 127).astype(np.int8)
    )
    items = np.rint(np.ldexp(array.astype(np.float64), -powers[..., None].astype(np.int32)))
    return PageArray(
        "s16", array.shape, items.clip(-LARGEST_S16, LARGEST_S16).astype("<i2"), powers
    )


def inline(array: object) -> dict[str, object]:
    """The array as plain JSON, with its bytes in base64.

    Raises:
        TypeError: it is no array of a page.
    """
    if not isinstance(array, PageArray):
        raise TypeError(f"{type(array).__name__} is no JSON")
    data = _coded(array.items)
    plain: dict[str, object] = {"shape": list(array.shape), "type": array.kind, "data": data}
    return plain if array.powers is None else plain | {"powers": _coded(array.powers)}


def inlined(data: object) -> object:
    """The data with their arrays as plain JSON."""
    if isinstance(data, PageArray):
        return inline(data)
    if isinstance(data, Mapping):
        return {name: inlined(each) for name, each in data.items()}
    return [inlined(each) for each in data] if isinstance(data, list) else data


class Parts:
    """The bytes of a saved page's arrays.

    Attributes:
        held: the bytes of each part. In the data, an array's `at` has the number of its part, its
            place in it, and its length.
    """

    def __init__(self) -> None:
        self.held = [bytearray()]

    def take(self, data: object) -> object:
        """The data as plain JSON; their arrays are added to the last part."""
        if isinstance(data, PageArray):
            at, powers = self._add(data.planes), data.powers
            plain: dict[str, object] = {"shape": list(data.shape), "type": data.kind, "at": at}
            return plain if powers is None else plain | {"powers": self._add(powers.tobytes())}
        if isinstance(data, Mapping):
            return {name: self.take(each) for name, each in data.items()}
        return [self.take(each) for each in data] if isinstance(data, list) else data

    def begin(self, least: int = 0) -> None:
        """Begins another part, unless the last one has fewer bytes than this."""
        if len(self.held[-1]) >= least:
            self.held.append(bytearray())

    def _add(self, planes: bytes) -> list[int]:
        at = [len(self.held) - 1, len(self.held[-1]), len(planes)]
        self.held[-1] += planes
        return at


def size_of(data: object) -> int:
    """The bytes of the arrays in the data."""
    if isinstance(data, PageArray):
        return data.items.nbytes
    if isinstance(data, Mapping):
        return sum(map(size_of, data.values()))
    return sum(map(size_of, data)) if isinstance(data, list) else 0


def _coded(items: npt.NDArray[np.generic]) -> str:
    return base64.b64encode(items.tobytes()).decode("ascii")
