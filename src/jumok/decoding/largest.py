"""The largest scores of every row, the same ones on every machine."""

from math import inf

import torch
from torch.nn import functional as F

from jumok.shapes import Float, Int, Tensor

BLOCK = 64


def largest(
    scores: Float[Tensor, "batch size"], count: int
) -> tuple[Float[Tensor, "batch {count}"], Int[Tensor, "batch {count}"]]:
    """The `count` largest scores of each row in falling order, and their places.

    Of equal scores the one further left comes first, which `torch.topk` does not promise.
    """
    if count >= scores.shape[1] // 2:
        values, places = scores.sort(dim=1, descending=True, stable=True)
        return values[:, :count], places[:, :count]
    values, places = scores.topk(count + 1, dim=1)
    # topk may have taken the wrong ones of equals only where they reach over its edge
    over_edge = (values[:, -1] == values[:, -2]) & (values[:, -1] > -inf)
    places, order = places[:, :count].sort(dim=1)
    values, order = values.gather(1, order).sort(dim=1, descending=True, stable=True)
    places = places.gather(1, order)
    if over_edge.any():
        rows = over_edge.nonzero()[:, 0]
        sorted_values, sorted_places = scores[rows].sort(dim=1, descending=True, stable=True)
        values[rows], places[rows] = sorted_values[:, :count], sorted_places[:, :count]
    return values, places


def place_of_largest(scores: Float[Tensor, "batch size"]) -> Int[Tensor, " batch"]:
    """The place of the largest score of each row; of equals the one furthest left.

    In two steps, block then place, because `argmax` over long rows does not use the vector units
    of a CPU and `amax` does: 0.05 ms instead of 0.27 ms for 32 rows of 8,000.
    """
    batch, size = scores.shape
    if size < 2 * BLOCK:
        return scores.argmax(1)
    whole = F.pad(scores, (0, -size % BLOCK), value=-inf) if size % BLOCK else scores
    blocks = whole.view(batch, -1, BLOCK)
    block = blocks.amax(2).argmax(1)
    inside = blocks[torch.arange(batch, device=scores.device), block].argmax(1)
    return block * BLOCK + inside
