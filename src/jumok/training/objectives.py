"""Where a batch meets a model, and nowhere else: one objective a kind of system."""

from typing import Protocol, runtime_checkable

from torch import nn

from jumok.data.batches import Batch
from jumok.data.tokenizer import PAD
from jumok.kernels.cross_entropy import smoothed_cross_entropy
from jumok.models.encoder_decoder import Transformer
from jumok.shapes import Float, Tensor


@runtime_checkable
class Objective(Protocol):
    """Something to make small."""

    def __call__(self, model: nn.Module, batch: Batch, smoothing: float) -> Float[Tensor, ""]:
        """The loss summed over the batch's real target tokens, in nats."""
        ...


def translation(model: nn.Module, batch: Batch, smoothing: float) -> Float[Tensor, ""]:
    """The label-smoothed cross-entropy of each target token, given the ones before it."""
    assert isinstance(model, Transformer)
    memory = model.encode(batch.source, batch.source_allowed)
    hidden = model.decoder.hidden(memory, batch.target_input)
    real = batch.target_output != PAD
    return smoothed_cross_entropy(
        hidden[real], model.decoder.output.weight, batch.target_output[real], smoothing
    )
