"""Objectives of models that read whole texts."""

import torch.nn.functional as F
from torch import nn

from jumok.data.texts.batches import LabelledBatch, MaskedBatch
from jumok.kernels.cross_entropy import smoothed_cross_entropy
from jumok.models.classifier import TextClassifier
from jumok.models.masked import MaskedLanguageModel
from jumok.shapes import Float, Tensor
from jumok.training.objectives.packed import real_states


def guess_masked(model: nn.Module, batch: MaskedBatch, smoothing: float) -> Float[Tensor, ""]:
    """The cross-entropy of the masked tokens; only their positions are projected."""
    assert isinstance(model, MaskedLanguageModel)
    head = model.head
    states = real_states(model.encoder(batch.tokens, batch.allowed), batch.places)
    return smoothed_cross_entropy(
        head.transform(states), head.output.weight, batch.answers, smoothing, head.bias
    )


def classify_texts(model: nn.Module, batch: LabelledBatch, smoothing: float) -> Float[Tensor, ""]:
    """The label-smoothed cross-entropy of each text's label."""
    assert isinstance(model, TextClassifier)
    logits = model(batch.tokens, batch.allowed).float()
    return F.cross_entropy(logits, batch.labels, label_smoothing=smoothing, reduction="sum")
