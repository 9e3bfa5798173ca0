"""Numeric forms and byte layout of a page's arrays.

A page that is served, or that a notebook shows, has them in base64 between the other data. A saved
page has them in compressed parts, of which the first one is enough to draw the first picture.

Weights that follow from their vectors travel as what the recorded ones are off:

    steps = round(65535 softmax(scale q · k))
    recorded weight = (steps + what the page gets) / 65535

The differences are nearly all 0, and compress to a fiftieth of the weights. So the page has to find
the same steps as this file, on every machine. Its vectors are whole numbers times powers of two
(`rounded`), whose products are exact in float64 in any order; everything else is additions,
multiplications and divisions in a fixed order, which IEEE 754 rounds in one way only. Exponentials
are not among these, so there is one here (`web/recomputed_weights.js` has the same).
"""

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from jumok.inspection.findings import Numbers
from jumok.inspection.trace import Site

ArrayForm = Literal["f32", "u16", "u8"]
"""How weights travel: as they are, or as steps from 0 to 1."""

ArrayKind = Literal["f32", "u16", "u8", "bits", "s16", "apart"]
"""What else an array may be: "bits"; "s16", whole steps, which are a power of two for each row of
the last axis; "apart", by how many of 65,535 steps a weight differs from the one that its vectors
give (`weights_apart`)."""

FORM_STEPS: dict[ArrayForm, tuple[str, int]] = {"u16": ("<u2", 65_535), "u8": ("|u1", 255)}

LARGEST_S16 = 32_767
"""The largest whole number of "s16"."""

PART_BYTES = 1 << 20
"""The arrays of several sites share a part of a saved page up to this size."""

WHOLE_BYTES = 4 << 20
"""A saved page with fewer bytes of arrays has one part: it is drawn once, and not twice."""

ONE_LN2, LN2 = 1.4426950408889634, 0.6931471805599453
TERMS = 12
"""The terms of the series, which is used up to half of LN2: the rest is below 1e-16."""

LOWEST_POWER = 60
"""The lowest power of two that counts; a weight below it has no step."""

MOST_APART = 127
"""The largest difference that is worth it: one byte."""


@dataclass(frozen=True)
class PageArray:
    """An array as a page holds it.

    Attributes:
        kind: what its bytes are.
        items: the numbers as they are stored, little-endian.
        powers: of "s16" for each row the exponent of its step.
    """

    kind: ArrayKind
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


def as_bits(array: npt.NDArray[np.generic]) -> PageArray:
    """True and false as bits, eight in a byte."""
    return PageArray("bits", array.shape, np.packbits(array.astype(np.bool_)))


def shares(array: npt.NDArray[np.floating], form: ArrayForm) -> PageArray:
    """Weights from 0 to 1, as whole steps unless they are to be exact."""
    if form == "f32":
        return exact(array)
    kind, most = FORM_STEPS[form]
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


def weights_apart(site: Site, query: PageArray, key: PageArray) -> PageArray | None:
    """How many steps the recorded weights of a site are off those that its rounded vectors give.

    None: they are not the softmax of these vectors' products alone, such as those of additive
    scores, or the difference is too large.
    """
    others = (site.energy, site.bias, site.sink)
    if site.scale is None or site.kind == "linear" or any(each is not None for each in others):
        return None
    if query.kind != "s16" or key.kind != "s16" or not np.isfinite(site.weights).all():
        return None
    most = FORM_STEPS["u16"][1]
    steps = np.floor(recomputed(query, key, site.scale, site.allowed) * most + 0.5)
    apart = np.rint(site.weights.clip(0, 1).astype(np.float64) * most) - steps
    if np.abs(apart).max(initial=0) > MOST_APART:
        return None
    return PageArray("apart", site.weights.shape, apart.astype(np.int8))


def recomputed(
    query: PageArray, key: PageArray, scale: float, allowed: npt.NDArray[np.bool_] | None
) -> Numbers:
    """(heads query key), the softmax of the scaled products, where the mask permits it."""
    assert query.powers is not None
    assert key.powers is not None
    products = query.items.astype(np.float64) @ key.items.astype(np.float64).swapaxes(1, 2)
    powers = query.powers[:, :, None].astype(np.int32) + key.powers[:, None, :]
    scores = np.ldexp(products, powers) * scale
    if allowed is not None:
        scores = np.where(allowed, scores, -np.inf)
    highest = scores.max(axis=2, keepdims=True)
    under = np.where(np.isfinite(scores), scores, 0.0) - np.where(np.isfinite(highest), highest, 0)
    exponentials = np.where(np.isfinite(scores), exponential(np.minimum(under, 0.0)), 0.0)
    sums = np.cumsum(exponentials, axis=2)[:, :, -1:]  # one after the other, as the page does
    weights: Numbers = np.divide(
        exponentials, sums, out=np.zeros_like(exponentials), where=sums > 0
    )
    return weights


def exponential(under: Numbers) -> Numbers:
    """e to the power of numbers that are not above 0."""
    whole = np.floor(under * ONE_LN2 + 0.5)
    rest = under - whole * LN2
    series = np.ones_like(rest)
    for term in range(TERMS, 0, -1):
        series = 1.0 + rest * series / term
    powers: Numbers = np.ldexp(series, np.maximum(whole, -LOWEST_POWER).astype(np.int32))
    return np.where(whole < -LOWEST_POWER, 0.0, powers)
