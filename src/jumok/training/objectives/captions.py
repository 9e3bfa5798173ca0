"""The objective of captioners."""

import torch
from torch import nn

from jumok.attention.masks import Documents
from jumok.attention.observe import Attention, observe
from jumok.data.captions.batches import CaptionBatch, CaptionRows
from jumok.kernels.cross_entropy import smoothed_cross_entropy
from jumok.models.captioner import CaptionerModel
from jumok.models.memory import Memory
from jumok.shapes import Float, Int, Tensor
from jumok.training.objectives.packed import real_states


def captioning(model: nn.Module, batch: CaptionBatch, smoothing: float) -> Float[Tensor, ""]:
    """The label-smoothed cross-entropy of each target token, given the previous ones.

    A model with doubly stochastic attention adds its weight times `overlooked`, the mean over its
    layers.
    """
    assert isinstance(model, CaptionerModel)
    memory = model.encode(batch.pictures)
    if not model.decoder.packs:
        memory = memory.select(batch.rows)
    if not model.doubly_stochastic:
        return _cross_entropy(model, memory, batch, smoothing)
    weights_of: dict[str, list[Tensor]] = {site: [] for site in model.cross_sites}

    def record(site: str, attention: Attention) -> None:
        weights_of[site].append(attention.weights.mean(dim=1))  # over the heads

    with observe(model, record, lambda site: site in weights_of):
        loss = _cross_entropy(model, memory, batch, smoothing)
    places = rows_of(model, batch).places
    # An RNN attends step by step; a Transformer's layer computes all steps at once.
    maps = (real_states(torch.cat(steps, dim=1), places) for steps in weights_of.values())
    count = len(batch.rows)
    terms = [overlooked(weights, batch.captions, count) for weights in maps]
    return loss + model.doubly_stochastic * torch.stack(terms).mean()


def rows_of(model: CaptionerModel, batch: CaptionBatch) -> CaptionRows:
    """The captions in the form in which this model's decoder is trained."""
    return batch.packed if model.decoder.packs else batch.apart


def _cross_entropy(
    model: CaptionerModel, memory: Memory, batch: CaptionBatch, smoothing: float
) -> Float[Tensor, ""]:
    rows = rows_of(model, batch)
    documents = () if rows.documents is None else (Documents(rows.documents),)
    hidden = model.decoder.hidden(memory, rows.tokens, *documents)
    return smoothed_cross_entropy(
        real_states(hidden, rows.places),
        model.decoder.output.weight,
        batch.target_output.flatten()[batch.apart.places],
        smoothing,
        cap=model.decoder.output.cap,
    )


def overlooked(
    weights: Float[Tensor, "positions cells"], captions: Int[Tensor, " positions"], count: int
) -> Float[Tensor, ""]:
    """sum over captions and cells of (1 - sum over steps of the cell's weight)^2.

    The weights of a caption of T steps sum to T, so over L cells the minimum is L (1 - T / L)^2.

    Args:
        captions: the caption of each position, from 0.
        count: the number of captions.

    Source: Xu et al. 2015, section 4.2.1, formula 14.
    """
    totals = weights.new_zeros(count, weights.shape[1], dtype=torch.float32)
    return ((1.0 - totals.index_add(0, captions, weights.float())) ** 2).sum()
