"""Position encodings of a model as images, and as curves over distance.

A table of vectors (sinusoidal, learned, index, fraction, binary) is added to the words: the curve
is the cosine of two positions by their distance, as the mean, the minimum and the maximum over all
pairs. Rotary positions rotate queries and keys: the curve is the mean cosine of the angles between
them, which is the factor on the product of two equal vectors. ALiBi and relative positions add a
bias to the scores: the curve of each head is e^bias, as a share of the largest: the factor on a
weight before the row is normalised.

Source: Vaswani et al. 2017, section 3.5; Su et al. 2021, section 3.4.3; Press et al. 2022.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from jumok.attention.multihead import MultiHeadAttention
from jumok.inspection.findings import StackPositions
from jumok.inspection.sites import float64_of
from jumok.layers.block import Stack
from jumok.layers.embedding import Embedding
from jumok.layers.recurrent import RecurrentLayer
from jumok.models.recurrent import RecurrentEncoder
from jumok.models.recurrent_decoder import RecurrentDecoder
from jumok.positions.alibi import AlibiPositions
from jumok.positions.binary import BinaryPositions
from jumok.positions.index import FractionPositions, IndexPositions
from jumok.positions.interfaces import VectorPositions
from jumok.positions.learned import LearnedPositions
from jumok.positions.relative import RelativePositions
from jumok.positions.rotary import RotaryPositions
from jumok.positions.sinusoidal import InclusiveSinusoidalPositions, SinusoidalPositions
from jumok.shapes import Float, Tensor

MOST_POSITIONS = 64
"""The most positions that are shown."""

TABLE_KINDS = {
    IndexPositions: "index",
    FractionPositions: "fraction",
    BinaryPositions: "binary",
    SinusoidalPositions: "sinusoidal",
    InclusiveSinusoidalPositions: "sinusoidal-inclusive",
    LearnedPositions: "learned",
}


@torch.inference_mode()
def position_facts(model: nn.Module) -> dict[str, StackPositions]:
    """The position encoding of every stack that reads words, by its path."""
    facts: dict[str, StackPositions] = {}
    before: dict[str, StackPositions] = {}
    for path, module in model.named_modules():
        if isinstance(module, RecurrentEncoder | RecurrentDecoder):
            facts[path] = StackPositions(_direction(module))
        if not isinstance(module, Stack):
            continue
        stack = path.rpartition(".")[0]
        reads_words = dict(model.get_submodule(stack).named_children()).get("embedding")
        if reads_words is None:  # it reads cells of an image
            continue
        place = positions_of(reads_words, module)
        same = next((name for name, other in before.items() if _equal(place, other)), None)
        before[stack] = place
        facts[stack] = place if same is None else replace(place, same=same, picture=None, curves={})
    return facts


def positions_of(embedding: nn.Module, blocks: Stack) -> StackPositions:
    """The encoding that is added to the words, or that of the first block's attention."""
    if isinstance(embedding, Embedding) and embedding.positions is not None:
        encoding = embedding.positions.encoding
        table = table_of(encoding)
        return _stack_positions(TABLE_KINDS.get(type(encoding), "other"), table, alike(table))
    attention = next(iter(blocks)).self_attention
    if not isinstance(attention, MultiHeadAttention):
        return StackPositions("none")
    rotary = next((p for p in attention.process_keys if isinstance(p, RotaryPositions)), None)
    if rotary is not None:
        angles = turned(rotary, MOST_POSITIONS)
        curve = {"mean": angles.mean(dim=1)}
        return _stack_positions("rotary", angles, curve, "distance", "pair of dimensions")
    if isinstance(attention.bias, AlibiPositions | RelativePositions):
        kind = "alibi" if isinstance(attention.bias, AlibiPositions) else "relative"
        left = remaining(attention.bias, attention.heads, MOST_POSITIONS)
        heads = {f"head {head}": curve for head, curve in enumerate(left.T, start=1)}
        return _stack_positions(kind, left, heads, "distance", "head")
    # positions from outside of jumok, which it cannot draw
    entered = [getattr(part, "enters", None) for part in (*attention.process_keys, attention.bias)]
    return StackPositions("other" if any(entered) else "none")


def table_of(encoding: VectorPositions) -> Float[Tensor, "positions dim"]:
    """The vectors of the first positions, in float32."""
    length = (
        min(MOST_POSITIONS, len(encoding.table))
        if isinstance(encoding, LearnedPositions)
        else MOST_POSITIONS
    )
    if isinstance(encoding, BinaryPositions):
        length = min(MOST_POSITIONS, 2**encoding.width)
    if isinstance(encoding, FractionPositions):
        places = encoding(0, length, torch.tensor([length]))[0]
    else:
        places = encoding(0, length)
    return places.float().cpu()


def alike(table: Float[Tensor, "positions dim"]) -> dict[str, Float[Tensor, " distances"]]:
    """The cosine of two positions by their distance: mean, minimum and maximum."""
    units = F.normalize(table, dim=1)
    cosines = units @ units.T
    diagonals = [cosines.diagonal(offset) for offset in range(len(table))]
    return {
        "mean": torch.stack([each.mean() for each in diagonals]),
        "least": torch.stack([each.min() for each in diagonals]),
        "largest": torch.stack([each.max() for each in diagonals]),
    }


def turned(rotary: RotaryPositions, length: int) -> Float[Tensor, "distances pairs"]:
    """The cosine of the angle by which each pair of dimensions is rotated, by distance."""
    ones = torch.zeros(1, 1, length, rotary.dim)
    ones[..., 0::2] = 1.0
    return rotary(ones, 0)[0, 0, :, 0::2]


def remaining(
    biases: AlibiPositions | RelativePositions, heads: int, length: int
) -> Float[Tensor, "distances heads"]:
    """e^bias of each head, for keys at distance 0, 1, ... to the left of the query, as a share of
    the largest.
    """
    query, key = torch.zeros(1, heads, 1, 1), torch.zeros(1, heads, length, 1)
    bias = biases(query, key, length - 1)[0, :, 0].float()  # the last key is at distance 0
    return (bias - bias.max(1, keepdim=True).values).flip(1).exp().cpu().T


def _direction(stack: RecurrentEncoder | RecurrentDecoder) -> str:
    directions = [each.backwards for each in stack.modules() if isinstance(each, RecurrentLayer)]
    return "recurrent-both" if any(directions) else "recurrent"


def _equal(one: StackPositions, other: StackPositions) -> bool:
    if one.kind != other.kind or one.picture is None or other.picture is None:
        return one.kind == other.kind
    return np.array_equal(one.picture, other.picture)


def _stack_positions(
    kind: str,
    picture: Float[Tensor, "rows columns"],
    curves: Mapping[str, Float[Tensor, " distances"]],
    rows: str = "position",
    columns: str = "dimension",
) -> StackPositions:
    named = {name: float64_of(curve, 4) for name, curve in curves.items()}
    return StackPositions(kind, None, float64_of(picture, 4), rows, columns, named)
