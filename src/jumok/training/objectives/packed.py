"""Reading batches, whose rows are one sentence each or shared by several."""

from torch import nn

from jumok.attention.masks import Documents
from jumok.data.pairs.batches import Batch
from jumok.data.texts.windows import TextBatch
from jumok.data.tokenizer import PAD
from jumok.kernels.cross_entropy import NO_TARGET
from jumok.models.encoder_decoder import Transformer
from jumok.models.memory import SequenceToSequence
from jumok.shapes import Float, Int, Tensor


def decoder_states(
    model: nn.Module, batch: Batch, times: int = 1
) -> Float[Tensor, "rows target dim"]:
    """The states from which the targets of all pairs are predicted.

    Args:
        times: how often the batch is read, each time with other dropout masks; the states of all
            times come one after another.
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
