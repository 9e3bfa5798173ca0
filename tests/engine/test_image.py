"""A model as the contents of a 32-bit memory: read back field by field, and by a C compiler."""

import ctypes
import struct
import subprocess

import numpy as np
import pytest

from jumok.engine import wasm
from jumok.engine.image import ImageOf, field_places, layout_of
from jumok.engine.packing import Packed
from jumok.engine.structures import (
    HERE,
    BlockLayout,
    LinearLayout,
    ModelLayout,
    NormLayout,
    ProcessLayout,
)


class Inner(ctypes.Structure):
    _fields_ = [("number", ctypes.c_int32), ("array", ctypes.c_void_p)]


class Outer(ctypes.Structure):
    _fields_ = [
        ("count", ctypes.c_int32),
        ("real", ctypes.c_double),
        ("one", Inner),
        ("same", ctypes.c_void_p),
        ("nothing", ctypes.c_void_p),
        ("left_out", ctypes.c_void_p),
        ("many", ctypes.POINTER(Inner)),
    ]


def test_structures_are_laid_out_with_addresses_of_four_bytes():
    packed = Packed("fp32")
    first, second = (packed.address(np.arange(size, dtype=np.float32)) for size in (3, 5))
    copy, absent = (packed.address(np.arange(n, dtype=np.float32)) for n in (3, 7))
    many = (Inner * 2)(Inner(7, first), Inner(8, second))
    outer = Outer(2, 0.5, Inner(-1, second), copy, None, absent, many)
    writer = ImageOf(packed.arrays, {"many": ("count",)}, frozenset({absent}))
    start = writer.add(outer)
    image = bytes(writer.image.contents)
    # count, padding, real, one (number, array), same, nothing, left_out, many, padding
    count, real, number, array, same, nothing, left_out, at = struct.unpack_from(
        "<i4xdiIIIII", image, start
    )
    assert (count, real, number, nothing, left_out) == (2, 0.5, -1, 0, 0)
    assert struct.unpack_from("<5f", image, array) == (0, 1, 2, 3, 4)
    assert array % 64 == same % 64 == 0
    numbers = struct.unpack_from("<iIiI", image, at)
    assert numbers == (7, same, 8, array), "arrays with the same contents are one"
    assert sorted(writer.image.addresses) == sorted(
        [start + 20, start + 24, start + 36, at + 4, at + 12]
    )


@pytest.mark.skipif(wasm.find_zig() is None, reason="needs zig")
def test_sizes_and_places_are_those_of_the_compiler(tmp_path):
    """Each claim is an assertion that the compiler checks."""
    names = {
        LinearLayout: "Linear",
        NormLayout: "Norm",
        ProcessLayout: "Process",
        BlockLayout: "Block",
        ModelLayout: "Model",
    }
    lines = ["#include <stddef.h>", f'#include "{HERE / "engine.c"}"']
    for layout, name in names.items():
        lines.append(f'_Static_assert(sizeof({name}) == {layout_of(layout)[0]}, "{name}");')
        lines += [
            f'_Static_assert(offsetof({name}, {field}) == {place}, "{name}.{field}");'
            for field, _, place in field_places(layout)
        ]
    source = tmp_path / "sizes.c"
    source.write_text("\n".join(lines) + "\n", "utf-8")
    zig = wasm.find_zig()
    assert zig is not None
    command = [*zig, "cc", "-target", "wasm32-wasi", "-c", str(source)]
    command += ["-o", str(tmp_path / "sizes.o")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("kind", "most"), [("fp32", 0), ("bf16", 2**-8), ("int8", 1 / 254)])
def test_packed_layers_give_their_weights_back(kind, most):
    matrix = np.random.default_rng(1).normal(size=(70, 12)).astype(np.float32)
    packed = Packed(kind)
    found = packed.floats(packed.matrix(matrix))
    sizes = np.abs(matrix).max(1, keepdims=True) if kind == "int8" else np.abs(matrix)
    assert (np.abs(found - matrix) <= 1.001 * most * sizes).all()
    np.testing.assert_array_equal(packed.floats(packed.matrix(found)), found)
