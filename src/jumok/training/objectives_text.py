"""Objectives of models that read whole texts."""

import torch.nn.functional as F
from torch import nn

from jumok.data.text_batches import LabelledBatch, MaskedBatch
from jumok.kernels.cross_entropy import smoothed_cross_entropy
from jumok.models.classifier import TextClassifier
from jumok.models.masked import MaskedLanguageModel
from jumok.shapes import Float, Tensor


def guess_masked(model: nn.Module, batch: MaskedBatch, smoothing: float) -> Float[Tensor, ""]:
    """The cross-entropy of the pieces that were taken out; only their positions are projected."""
    assert isinstance(model, MaskedLanguageModel)
    head, device = model.head, model.head.bias.device
    allowed = None if batch.allowed is None else batch.allowed.to(device)
    states = model.encoder(batch.tokens.to(device), allowed)[batch.chosen.to(device)]
    return smoothed_cross_entropy(
        head.transform(states), head.output.weight, batch.answers.to(device), smoothing, head.bias
    )


def classify_texts(model: nn.Module, batch: LabelledBatch, smoothing: float) -> Float[Tensor, ""]:
    """The label-smoothed cross-entropy of each text's label."""
    assert isinstance(model, TextClassifier)
    device = model.output.weight.device
    allowed = None if batch.allowed is None else batch.allowed.to(device)
    logits, labels = model(batch.tokens.to(device), allowed).float(), batch.labels.to(device)
    return F.cross_entropy(logits, labels, label_smoothing=smoothing, reduction="sum")
