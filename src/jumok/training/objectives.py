"""Where a batch meets a model, and nowhere else: one objective a kind of system."""

from collections.abc import Iterable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn

from jumok.data.batches import Batch
from jumok.data.picture_batches import PictureBatch
from jumok.data.tokenizer import PAD
from jumok.data.windows import TextBatch
from jumok.kernels.cross_entropy import consistent_cross_entropy, smoothed_cross_entropy
from jumok.models.causal import CausalLanguageModel
from jumok.models.image_classifier import ImageClassifier
from jumok.models.memory import SequenceToSequence
from jumok.shapes import Float, Tensor
from jumok.training.task import MicroBatch, Objective


def translation(model: nn.Module, batch: Batch, smoothing: float) -> Float[Tensor, ""]:
    """The label-smoothed cross-entropy of each target token, given the ones before it."""
    assert isinstance(model, SequenceToSequence)
    memory = model.encode(batch.source, batch.source_allowed)
    hidden = model.decoder.hidden(memory, batch.target_input)
    real = batch.target_output != PAD
    return smoothed_cross_entropy(
        hidden[real], model.decoder.output.weight, batch.target_output[real], smoothing
    )


@dataclass(frozen=True)
class ConsistentTranslation:
    """Every pair is read twice, with other dropout masks, and both readings should agree.

    Its loss is half of the paper's, so that it compares with `translation`: the mean of the two
    cross-entropies, and weight / 4 of the two divergences' sum.

    Source: Wu, Li et al. 2021, "R-Drop", where `weight` is called alpha.
    """

    weight: float

    def __call__(self, model: nn.Module, batch: Batch, smoothing: float) -> Float[Tensor, ""]:
        assert isinstance(model, SequenceToSequence)
        allowed = None if batch.source_allowed is None else batch.source_allowed.repeat(2, 1)
        memory = model.encode(batch.source.repeat(2, 1), allowed)
        hidden = model.decoder.hidden(memory, batch.target_input.repeat(2, 1))
        real = batch.target_output != PAD
        readings = hidden.unflatten(0, (2, -1))[:, real].transpose(0, 1)
        targets, table = batch.target_output[real], model.decoder.output.weight
        return 0.5 * consistent_cross_entropy(readings, table, targets, smoothing, self.weight / 2)


def picture_classification(
    model: nn.Module, batch: PictureBatch, smoothing: float
) -> Float[Tensor, ""]:
    """The label-smoothed cross-entropy of each picture's label."""
    assert isinstance(model, ImageClassifier)
    device = model.output.weight.device
    logits = model(batch.pixels.to(device)).float()
    labels = batch.labels.to(device)
    return F.cross_entropy(logits, labels, label_smoothing=smoothing, reduction="sum")


def next_token(model: nn.Module, batch: TextBatch, smoothing: float) -> Float[Tensor, ""]:
    """The cross-entropy of each token, given the ones before it in its document."""
    assert isinstance(model, CausalLanguageModel)
    table = model.decoder.output.weight
    documents = None if batch.documents is None else batch.documents.to(table.device)
    hidden = model.hidden(batch.tokens.to(table.device), documents)
    following = batch.following.to(table.device)
    real = following != PAD
    return smoothed_cross_entropy(hidden[real], table, following[real], smoothing)


@torch.no_grad()
def mean_loss(objective: Objective, model: nn.Module, batches: Iterable[MicroBatch]) -> float:
    """The loss a target over all `batches`, in nats, without label smoothing."""
    total, targets = 0.0, 0
    for batch in batches:
        total += float(objective(model, batch, 0.0))
        targets += batch.targets
    return total / targets
