"""How positions enter the vectors of words: added to them, or set beside them.

    added:         x + p
    concatenated:  [x ; p] W,  which is x W_x + p W_p

Written out, concatenation is a sum again, of learned images of both; W brings the pair back to the
model's width, so that tables may still be tied.

Source: added: Vaswani et al. 2017, section 3.5; concatenated: lecture 004 ("Positional encoding").
"""

import torch
import torch.nn.functional as F
from torch import nn

from jumok.attention.masks import Documents
from jumok.kernels.linear import Linear
from jumok.positions.index import FractionPositions
from jumok.positions.interfaces import VectorPositions
from jumok.shapes import Float, Int, States, Tensor


class AddedPositions(nn.Module):
    """x + p; an encoding narrower than x is added to its first elements."""

    def __init__(self, encoding: VectorPositions) -> None:
        super().__init__()
        self.encoding = encoding

    def forward(
        self,
        states: States,
        position: int,
        lengths: Int[Tensor, " batch"] | None = None,
        documents: Documents | None = None,
    ) -> States:
        places = places_of(self.encoding, states, position, lengths, documents)
        missing = states.shape[-1] - places.shape[-1]
        return states + (F.pad(places, (0, missing)) if missing else places)


class ConcatenatedPositions(nn.Module):
    """[x ; p] W."""

    def __init__(self, encoding: VectorPositions, dim: int) -> None:
        super().__init__()
        self.encoding = encoding
        self.join = Linear(dim + encoding.width, dim)

    def forward(
        self,
        states: States,
        position: int,
        lengths: Int[Tensor, " batch"] | None = None,
        documents: Documents | None = None,
    ) -> States:
        places = places_of(self.encoding, states, position, lengths, documents)
        both = torch.cat((states, places.expand(*states.shape[:-1], -1)), dim=-1)
        return self.join(both)


Positions = AddedPositions | ConcatenatedPositions


def places_of(
    encoding: VectorPositions,
    states: States,
    position: int,
    lengths: Int[Tensor, " batch"] | None,
    documents: Documents | None,
) -> Float[Tensor, "#batch length width"]:
    """The encoding of each state's place, of the states' type and on their device."""
    length = states.shape[1]
    if documents is not None and documents.longest is not None:
        length = min(length, documents.longest)
    if isinstance(encoding, FractionPositions):
        if documents is not None and lengths is not None:
            return encoding.inside(documents.indexes(), documents.lengths()).to(states)
        places = encoding(position, length, lengths)
    else:
        places = encoding(position, length)[None]
    places = places.to(states.device, states.dtype, non_blocking=True)
    if documents is None:
        return places
    # what pads a row may be longer than every document
    return F.embedding(documents.indexes().clamp(max=places.shape[1] - 1), places[0])
