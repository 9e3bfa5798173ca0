"""Objectives: the loss of a batch, one for each kind of system.

Model and batch are on the same device, which the caller ensures (`on_device`).
"""

from collections.abc import Iterable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn

from jumok.attention.masks import Documents
from jumok.attention.observe import Attention, observe
from jumok.data.captions.batches import CaptionBatch, CaptionRows
from jumok.data.pairs.batches import Batch, on_device
from jumok.data.pictures.batches import PictureBatch
from jumok.data.texts.batches import LabelledBatch, MaskedBatch
from jumok.data.texts.windows import TextBatch
from jumok.data.tokenizer import PAD
from jumok.kernels.cross_entropy import (
    NO_TARGET,
    consistent_cross_entropy,
    smoothed_cross_entropy,
)
from jumok.models.captioner import CaptionerModel
from jumok.models.causal import CausalLanguageModel
from jumok.models.classifier import TextClassifier
from jumok.models.encoder_decoder import Transformer
from jumok.models.image_classifier import ImageClassifier
from jumok.models.masked import MaskedLanguageModel
from jumok.models.memory import Memory, SequenceToSequence
from jumok.shapes import Float, Int, Tensor
from jumok.training.task import MicroBatch, Objective, finite


def translation(model: nn.Module, batch: Batch, smoothing: float) -> Float[Tensor, ""]:
    """The label-smoothed cross-entropy of each target token, given the previous ones."""
    assert isinstance(model, SequenceToSequence)
    hidden = decoder_states(model, batch)
    targets, output = targets_of(batch.target_output, batch.places), model.decoder.output
    return smoothed_cross_entropy(
        real_states(hidden, batch.places),
        output.weight,
        targets,
        smoothing,
        output.bias,
        output.cap,
    )


@dataclass(frozen=True)
class ConsistentTranslation:
    """R-Drop: every pair is computed twice with different dropout masks, and both outputs should
    agree.

    The loss is half of the paper's, to compare with `translation`: the mean of the two
    cross-entropies, and weight / 4 of the two divergences' sum.

    Source: Wu, Li et al. 2021, "R-Drop", where `weight` is called alpha.
    """

    weight: float

    def __call__(self, model: nn.Module, batch: Batch, smoothing: float) -> Float[Tensor, ""]:
        assert isinstance(model, SequenceToSequence)
        hidden = decoder_states(model, batch, times=2)
        both = hidden.unflatten(0, (2, -1)).flatten(1, 2)
        states = both.index_select(1, batch.places).transpose(0, 1)
        targets, output = targets_of(batch.target_output, batch.places), model.decoder.output
        return 0.5 * consistent_cross_entropy(
            states, output.weight, targets, smoothing, self.weight / 2, output.cap, output.bias
        )


def picture_classification(
    model: nn.Module, batch: PictureBatch, smoothing: float
) -> Float[Tensor, ""]:
    """The label-smoothed cross-entropy of each image's label."""
    assert isinstance(model, ImageClassifier)
    logits = model(batch.pixels).float()
    return F.cross_entropy(logits, batch.labels, label_smoothing=smoothing, reduction="sum")


def next_token(model: nn.Module, batch: TextBatch, smoothing: float) -> Float[Tensor, ""]:
    """The cross-entropy of each token, given the previous ones of its document."""
    assert isinstance(model, CausalLanguageModel)
    hidden = model.hidden(batch.tokens, documents_of(batch))
    targets, output = targets_of(batch.following, batch.places), model.decoder.output
    return smoothed_cross_entropy(
        real_states(hidden, batch.places),
        output.weight,
        targets,
        smoothing,
        output.bias,
        output.cap,
    )


def guess_masked(model: nn.Module, batch: MaskedBatch, smoothing: float) -> Float[Tensor, ""]:
    """The cross-entropy of the masked tokens; only their positions are projected."""
    assert isinstance(model, MaskedLanguageModel)
    head = model.head
    states = real_states(model.encoder(batch.tokens, batch.allowed), batch.places)
    return smoothed_cross_entropy(
        head.transform(states), head.output.weight, batch.answers, smoothing, head.bias
    )


def text_classification(
    model: nn.Module, batch: LabelledBatch, smoothing: float
) -> Float[Tensor, ""]:
    """The label-smoothed cross-entropy of each text's label."""
    assert isinstance(model, TextClassifier)
    logits = model(batch.tokens, batch.allowed).float()
    return F.cross_entropy(logits, batch.labels, label_smoothing=smoothing, reduction="sum")


def captioning(model: nn.Module, batch: CaptionBatch, smoothing: float) -> Float[Tensor, ""]:
    """The label-smoothed cross-entropy of each target token, given the previous ones.

    Doubly stochastic attention adds its weight times `overlooked`, the mean over its layers.
    """
    assert isinstance(model, CaptionerModel)
    memory = model.encode(batch.pictures)
    if not model.decoder.packs:
        memory = memory.select(batch.rows)
    if not model.doubly_stochastic:
        return _caption_loss(model, memory, batch, smoothing)
    weights_of: dict[str, list[Tensor]] = {site: [] for site in model.cross_sites}

    def record(site: str, attention: Attention) -> None:
        weights_of[site].append(attention.weights.mean(dim=1))  # over the heads

    with observe(model, record, lambda site: site in weights_of):
        loss = _caption_loss(model, memory, batch, smoothing)
    places = caption_rows(model, batch).places
    # An RNN attends step by step; a Transformer's layer computes all steps at once.
    maps = (real_states(torch.cat(steps, dim=1), places) for steps in weights_of.values())
    count = len(batch.rows)
    terms = [overlooked(weights, batch.captions, count) for weights in maps]
    return loss + model.doubly_stochastic * torch.stack(terms).mean()


def caption_rows(model: CaptionerModel, batch: CaptionBatch) -> CaptionRows:
    """The captions as this model's decoder is trained on them."""
    return batch.packed if model.decoder.packs else batch.apart


def _caption_loss(
    model: CaptionerModel, memory: Memory, batch: CaptionBatch, smoothing: float
) -> Float[Tensor, ""]:
    rows = caption_rows(model, batch)
    longest = batch.real.shape[1]  # a row may be padded beyond what the decoder reads
    documents = () if rows.documents is None else (Documents(rows.documents, longest=longest),)
    hidden, output = model.decoder.hidden(memory, rows.tokens, *documents), model.decoder.output
    return smoothed_cross_entropy(
        real_states(hidden, rows.places),
        output.weight,
        batch.target_output.flatten()[batch.apart.places],
        smoothing,
        output.bias,
        output.cap,
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


@torch.no_grad()
def mean_loss(objective: Objective, model: nn.Module, batches: Iterable[MicroBatch]) -> float:
    """The loss per target, in nats, without label smoothing; raises as `finite`."""
    device = next(model.parameters()).device
    losses, targets = [], 0
    for batch in batches:
        losses.append(objective(model, on_device(batch, device), 0.0))
        targets += batch.targets
    # Read together: a GPU is waited for once.
    return finite(sum(torch.stack(losses).tolist()) / targets)


def decoder_states(
    model: nn.Module, batch: Batch, times: int = 1
) -> Float[Tensor, "rows target dim"]:
    """The states from which the targets of all pairs are predicted.

    Args:
        times: how often the batch is read, with other dropout masks, one after another in the
            result.
    """
    assert isinstance(model, SequenceToSequence)
    source, target, allowed = batch.source, batch.target_input, batch.source_allowed
    if times > 1:
        source, target = source.repeat(times, 1), target.repeat(times, 1)
        allowed = None if allowed is None else allowed.repeat(times, 1)
    if batch.source_documents is None or batch.target_documents is None:
        return model.decoder.hidden(model.encode(source, allowed), target)
    assert isinstance(model, Transformer)
    sources = Documents(batch.source_documents, batch.source_offsets, batch.longest)
    targets = Documents(batch.target_documents, batch.target_offsets, batch.longest)
    memory = model.encode(source, None, sources.repeated(times))
    return model.decoder.hidden(memory, target, targets.repeated(times))


def documents_of(batch: TextBatch) -> Documents | None:
    """The documents of the windows of a language model; None: every row is one."""
    if batch.documents is None:
        return None
    return Documents(batch.documents, batch.offsets, batch.longest)


def targets_of(
    tokens: Int[Tensor, "rows length"], places: Int[Tensor, " places"]
) -> Int[Tensor, " places"]:
    """What is to be predicted at these places; NO_TARGET where it is padding."""
    targets = tokens.flatten().index_select(0, places)
    return targets.masked_fill(targets == PAD, NO_TARGET)


def real_states(
    states: Float[Tensor, "batch length width"], places: Int[Tensor, " real"]
) -> Float[Tensor, "real width"]:
    """The states of real positions, which count row by row, without padding.

    Twice as fast on a CPU as a boolean index, for which the host would have to wait on a GPU.
    """
    return states.flatten(0, 1).index_select(0, places)
