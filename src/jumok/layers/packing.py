"""Several documents in one row: each attends, and counts its positions, inside itself only.

Rows without padding are trained on faster: short texts share one, and the captions of a picture
share what was computed of it.

Source: Krell et al. 2021, "Efficient sequence packing without cross-contamination".
"""

import torch

from jumok.shapes import Bool, Int, Tensor

Documents = Int[Tensor, "batch length"]
"""A number for each token, the same for the tokens of a document, which are adjacent."""


def same_document(documents: Documents) -> Bool[Tensor, "batch 1 length length"]:
    """True where query and key are of one document."""
    return (documents[:, :, None] == documents[:, None, :])[:, None]


def indexes_inside(documents: Documents) -> Int[Tensor, "batch length"]:
    """Each token's position in its own document: 0 0 0 1 1 becomes 0 1 2 0 1."""
    index = torch.arange(documents.shape[1], device=documents.device).expand_as(documents)
    starts: Bool[Tensor, "batch length"] = torch.ones_like(documents, dtype=torch.bool)
    starts[:, 1:] = documents[:, 1:] != documents[:, :-1]
    return index - index.where(starts, 0).cummax(1).values
