"""Where a batch of captioned pictures meets a model."""

import torch
from torch import nn

from jumok.attention.observe import Attention, observe
from jumok.data.captioned import CaptionBatch
from jumok.data.tokenizer import PAD
from jumok.kernels.cross_entropy import smoothed_cross_entropy
from jumok.models.captioner import Captioner
from jumok.models.memory import Memory
from jumok.shapes import Bool, Float, Tensor


def captioning(model: nn.Module, batch: CaptionBatch, smoothing: float) -> Float[Tensor, ""]:
    """The label-smoothed cross-entropy of each target token, given the ones before it.

    A model that wants every cell looked at adds its weight times `overlooked`, the mean over its
    layers. The attention is read as any observer reads it; decoders know nothing of it.
    """
    assert isinstance(model, Captioner)
    memory = model.encode(batch.pictures)
    if not (batch.even and model.decoder.shares_memory):
        memory = memory.select(batch.rows)
    real = batch.target_output != PAD
    if not model.doubly_stochastic:
        return _cross_entropy(model, memory, batch, real, smoothing)
    seen: dict[str, list[Tensor]] = {site: [] for site in model.looks}

    def keep(site: str, attention: Attention) -> None:
        seen[site].append(attention.weights.mean(dim=1))  # over the heads

    with observe(model, keep, lambda site: site in seen):
        loss = _cross_entropy(model, memory, batch, real, smoothing)
    # An RNN looks step by step; a Transformer's layer at all steps of a picture's captions at once.
    looked = (torch.cat(steps, dim=1) for steps in seen.values())
    terms = [overlooked(each.reshape(*real.shape, -1), real) for each in looked]
    return loss + model.doubly_stochastic * torch.stack(terms).mean()


def _cross_entropy(
    model: Captioner,
    memory: Memory,
    batch: CaptionBatch,
    real: Bool[Tensor, "batch target"],
    smoothing: float,
) -> Float[Tensor, ""]:
    hidden = model.decoder.hidden(memory, batch.target_input)
    return smoothed_cross_entropy(
        hidden[real], model.decoder.output.weight, batch.target_output[real], smoothing
    )


def overlooked(
    weights: Float[Tensor, "batch target cells"], real: Bool[Tensor, "batch target"]
) -> Float[Tensor, ""]:
    """sum over captions and cells of (1 - sum over steps of the cell's weight)^2.

    A caption of T steps gives T in all, so over L cells the least is L (1 - T / L)^2: where the
    grid has more cells than the caption has words, all are looked at alike.

    Source: Xu et al. 2015, section 4.2.1, formula 14.
    """
    looked = (weights * real[..., None]).float().sum(dim=1)
    return ((1.0 - looked) ** 2).sum()
