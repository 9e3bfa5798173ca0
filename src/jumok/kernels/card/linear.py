"""The gradient of a bias on a GPU: the sum of many rows, which torch reads at a fourth of the speed
of the memory.

The readable twin is `slope.sum(dim=0)`.
"""

import torch
import triton
import triton.language as tl

from jumok.shapes import Float, Tensor

COLUMNS, ROWS = 128, 32
PROGRAMS = 1056
"""At most about so many, each for some rows of COLUMNS: 8 for each multiprocessor of an H100."""


@triton.jit
def _add(states, sums, rows, dim, each: tl.constexpr, height: tl.constexpr, width: tl.constexpr):  # type: ignore[no-untyped-def]
    column = tl.program_id(0) * width + tl.arange(0, width)
    part = tl.program_id(1)
    inside = column < dim
    found = tl.zeros([height, width], tl.float32)
    for start in range(0, each, height):
        row = (part * each + start + tl.arange(0, height)).to(tl.int64)
        real = (row < rows)[:, None] & inside[None, :]
        value = tl.load(states + row[:, None] * dim + column[None, :], mask=real)
        found += tl.where(real, value.to(tl.float32), 0.0)
    tl.store(sums + part.to(tl.int64) * dim + column, tl.sum(found, axis=0), mask=inside)


def sum_rows(states: Float[Tensor, "rows dim"]) -> Float[Tensor, " dim"]:
    """The sum of the rows, added up in float32 in an order that depends on their number alone."""
    rows, dim = states.shape
    wide = triton.cdiv(dim, COLUMNS)
    each = triton.next_power_of_2(max(ROWS, triton.cdiv(rows * wide, PROGRAMS)))
    parts = triton.cdiv(rows, each)
    sums = torch.empty(parts, dim, dtype=torch.float32, device=states.device)
    if rows and dim:
        with torch.cuda.device_of(states):
            _add[(wide, parts)](states, sums, rows, dim, each=each, height=ROWS, width=COLUMNS)
    return sums.sum(dim=0).to(states.dtype)
