"""Objectives: the loss of a batch, one objective per kind of system.

Model and batch are on the same device, which the caller ensures (`on_device`).
"""

from collections.abc import Iterable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn

from jumok.data.pairs.batches import Batch, on_device
from jumok.data.pictures.batches import PictureBatch
from jumok.data.texts.windows import TextBatch
from jumok.kernels.cross_entropy import consistent_cross_entropy, smoothed_cross_entropy
from jumok.models.causal import CausalLanguageModel
from jumok.models.image_classifier import ImageClassifier
from jumok.models.memory import SequenceToSequence
from jumok.shapes import Float, Tensor
from jumok.training.objectives.packed import (
    decoder_states,
    documents_of,
    real_states,
    targets_of,
)
from jumok.training.task import MicroBatch, Objective, finite


def translation(model: nn.Module, batch: Batch, smoothing: float) -> Float[Tensor, ""]:
    """The label-smoothed cross-entropy of each target token, given the previous ones."""
    assert isinstance(model, SequenceToSequence)
    hidden = decoder_states(model, batch)
    targets, output = targets_of(batch.target_output, batch.places), model.decoder.output
    return smoothed_cross_entropy(
        real_states(hidden, batch.places), output.weight, targets, smoothing, cap=output.cap
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
            states, output.weight, targets, smoothing, self.weight / 2, output.cap
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
        real_states(hidden, batch.places), output.weight, targets, smoothing, cap=output.cap
    )


@torch.no_grad()
def mean_loss(objective: Objective, model: nn.Module, batches: Iterable[MicroBatch]) -> float:
    """The loss per target over all `batches`, in nats, without label smoothing; see `finite`."""
    device = next(model.parameters()).device
    losses, targets = [], 0
    for batch in batches:
        losses.append(objective(model, on_device(batch, device), 0.0))
        targets += batch.targets
    # Read together: a GPU is waited for once.
    return finite(sum(torch.stack(losses).tolist()) / targets)
