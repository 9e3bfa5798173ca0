"""The largest scores of every row, the same ones on every machine.

Rows are as long as a vocabulary, or a beam times as long. On a CPU `torch.topk` and `torch.argmax`
read one score at a time and `torch.amax` sixteen; so blocks are compared by their largest score
first, and single scores only in the blocks that can matter. 32 rows on one core: the largest
of 8,000 in 0.05 ms instead of 0.27, the ten largest of 40,000 in 0.9 ms instead of 1.7.
"""

from math import inf

import torch
from torch.nn import functional as F

from jumok.shapes import Float, Int, Tensor

BLOCK = 64
FEW = 12_000  # so many scores are read one by one before the blocks' eight calls have returned


def largest(
    scores: Float[Tensor, "batch size"], count: int
) -> tuple[Float[Tensor, "batch {count}"], Int[Tensor, "batch {count}"]]:
    """The `count` largest scores of each row in falling order, and their places.

    Of equal scores the one further left comes first, which `torch.topk` does not promise.
    The `count` largest scores are in the `count` blocks with the largest maxima: a score
    elsewhere has the maximum of each of these blocks before it.
    """
    if scores.shape[1] <= 2 * BLOCK * count:
        return _largest(scores, count)
    blocks = _blocks(scores)
    chosen = _largest(blocks.amax(2), count)[1].sort(dim=1).values
    inside = blocks.gather(1, chosen[..., None].expand(-1, -1, BLOCK)).flatten(1)
    values, places = _largest(inside, count)
    return values, chosen.gather(1, places // BLOCK) * BLOCK + places % BLOCK


def place_of_largest(scores: Float[Tensor, "batch size"]) -> Int[Tensor, " batch"]:
    """The place of the largest score of each row; of equals the one furthest left."""
    batch, size = scores.shape
    if size <= 2 * BLOCK or scores.numel() <= FEW:
        return scores.argmax(1)
    blocks = _blocks(scores)
    block = blocks.amax(2).argmax(1)
    inside = blocks[torch.arange(batch, device=scores.device), block].argmax(1)
    return block * BLOCK + inside


def _blocks(scores: Float[Tensor, "batch size"]) -> Float[Tensor, "batch blocks block"]:
    missing = -scores.shape[1] % BLOCK
    whole = F.pad(scores, (0, missing), value=-inf) if missing else scores
    return whole.view(len(scores), -1, BLOCK)


def _largest(scores: Float[Tensor, "batch size"], count: int) -> tuple[Tensor, Tensor]:
    if count >= scores.shape[1] // 2:
        values, places = scores.sort(dim=1, descending=True, stable=True)
        return values[:, :count], places[:, :count]
    values, places = scores.topk(count + 1, dim=1)
    # topk may choose the wrong ones of equals only where they reach beyond the first `count`
    over_edge = (values[:, -1] == values[:, -2]) & (values[:, -1] > -inf)
    places, order = places[:, :count].sort(dim=1)
    values, order = values.gather(1, order).sort(dim=1, descending=True, stable=True)
    places = places.gather(1, order)
    if over_edge.any():
        rows = over_edge.nonzero()[:, 0]
        sorted_values, sorted_places = scores[rows].sort(dim=1, descending=True, stable=True)
        values[rows], places[rows] = sorted_values[:, :count], sorted_places[:, :count]
    return values, places
