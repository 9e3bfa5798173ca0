"""Where a batch meets a model, and nowhere else: one objective a kind of system."""

from collections.abc import Iterable

import torch
import torch.nn.functional as F
from torch import nn

from jumok.data.batches import Batch
from jumok.data.picture_batches import PictureBatch
from jumok.data.tokenizer import PAD
from jumok.data.windows import TextBatch
from jumok.kernels.cross_entropy import smoothed_cross_entropy
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
