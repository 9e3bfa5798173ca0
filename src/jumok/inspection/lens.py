"""The logit lens: the prediction after every layer; and how far each word's vector has moved.

The residual stream of a stack of blocks is a sum to which each block adds. The last norm and the
output matrix, applied to the stream after layer l, give the prediction so far (the "logit lens");
after the last layer it is the model's own prediction. A post-norm model has no final norm: each
layer ends with its own norm, and the output matrix reads its result. Only the last layer was
trained to be read by the output matrix.

Source: nostalgebraist 2020, interpreting GPT: the logit lens; Elhage et al. 2021, A mathematical
framework for Transformer circuits, "the residual stream".
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from torch import nn

from jumok.inspection.findings import Numbers, Predictions, StackLayers
from jumok.inspection.hooks.recording import RecordedPass
from jumok.inspection.trace import Array
from jumok.layers.block import Stack
from jumok.layers.embedding import Embedding
from jumok.layers.interfaces import Norm
from jumok.layers.residual import PostNorm
from jumok.models.decoder import TransformerDecoder
from jumok.models.masked import MaskedLanguageModel
from jumok.shapes import Float, Int, Tensor

LENS_TOKENS = 5

Logits = Callable[[Float[Tensor, "positions dim"]], Float[Tensor, "positions vocabulary"]]


@dataclass(frozen=True)
class LensPredictions:
    """The predictions after each layer of a stack; row 0 is the embedding.

    Attributes:
        tokens, probabilities: (layers + 1, positions, best), the most probable first.
        written: (layers + 1, positions), the probability of the chosen token; None: not every
            position has a chosen token.
    """

    tokens: Int[Tensor, "layers positions best"]
    probabilities: Float[Tensor, "layers positions best"]
    written: Float[Tensor, "layers positions"] | None


def reader_of(model: nn.Module, stack: str) -> Logits | None:
    """The output layer that reads a stack's normalised states; None: the stack has none."""
    parent = model.get_submodule(stack)
    if isinstance(parent, TransformerDecoder):
        return parent.logits
    if isinstance(model, MaskedLanguageModel):
        return model.head
    return None


def last_norm(model: nn.Module, stack: str) -> Norm:
    """The norm between the stream and the output layer; the identity in post-norm models."""
    blocks = model.get_submodule(f"{stack}.blocks")
    assert isinstance(blocks, Stack)
    after = list(blocks)[-1].after_feedforward
    assert not isinstance(after, nn.Identity)
    return nn.Identity() if isinstance(after, PostNorm) else after.norm


@torch.inference_mode()
def lens_predictions(
    logits: Logits,
    norm: Norm,
    stream: Float[Tensor, "layers positions dim"],
    written: Sequence[int] | None,
) -> LensPredictions:
    """The predictions of every layer.

    Args:
        written: the chosen token of each position; further positions of the stream are left out.
            None: no tokens were chosen, and all positions are read.
    """
    stream = stream if written is None else stream[:, : len(written)]
    tokens, probabilities, chosen = [], [], []
    for layer in stream:  # one at a time: the vocabulary is large
        distribution = logits(norm(layer)).float().softmax(dim=-1)
        values, places = distribution.topk(min(LENS_TOKENS, distribution.shape[1]), dim=1)
        tokens.append(places)
        probabilities.append(values)
        if written is not None:
            chosen.append(
                distribution.gather(1, torch.tensor(written, device=distribution.device)[:, None])
            )
    return LensPredictions(
        torch.stack(tokens),
        torch.stack(probabilities),
        torch.stack(chosen)[..., 0] if written is not None else None,
    )


def moved(
    stream: Float[Tensor, "layers positions dim"], words: Float[Tensor, "positions dim"]
) -> Float[Tensor, "layers positions"]:
    """The cosine of each position's vector in every layer with its word's embedding."""
    return F.cosine_similarity(stream.float(), words.float()[None], dim=-1)


def _words_read(model: nn.Module, recorded: RecordedPass) -> dict[str, Tensor]:
    """The embeddings of the words that each stack read, before positions are added: (positions dim)
    by the stack's path, for the batch's first row."""
    words = {}
    for path, module in model.named_modules():
        if isinstance(module, Embedding):
            stack = path.rpartition(".")[0]
            words[stack] = F.embedding(recorded.read_by(stack)[0], module.table).detach()
    return words


def layer_facts(
    model: nn.Module,
    recorded: RecordedPass,
    streams: Mapping[str, Array],
    written: Sequence[int],
    pieces: Callable[[Sequence[int]], Sequence[str]],
) -> dict[str, StackLayers]:
    """The layer analysis of each stack, by its path.

    A stack that reads no words is left out. (For RNNs see `jumok.inspection.hooks.recurrent`.)

    Args:
        streams: those of the recorded pass, of its first row.
    """
    facts: dict[str, StackLayers] = {}
    words = _words_read(model, recorded)
    for stack, array in streams.items():
        if stack not in words:
            continue
        stream = torch.from_numpy(array).to(words[stack])
        facts[stack] = StackLayers(rounded(moved(stream, words[stack])))
        logits = reader_of(model, stack)
        if logits is not None:
            norm = last_norm(model, stack)
            every = isinstance(model.get_submodule(stack), TransformerDecoder)
            predictions = lens_predictions(logits, norm, stream, written if every else None)
            facts[stack] = replace(
                facts[stack],
                read="post" if isinstance(norm, nn.Identity) else "pre",
                best=named_predictions(predictions, pieces),
                written=None if predictions.written is None else rounded(predictions.written),
            )
    return facts


def named_predictions(
    found: LensPredictions, pieces: Callable[[Sequence[int]], Sequence[str]]
) -> Predictions:
    """For each layer and position the tokens with their probabilities."""
    probabilities = rounded(found.probabilities).tolist()
    return tuple(
        tuple(
            tuple(zip(pieces(tokens), values, strict=True))
            for tokens, values in zip(*layer, strict=True)
        )
        for layer in zip(found.tokens.tolist(), probabilities, strict=True)
    )


def rounded(tensor: Tensor) -> Numbers:
    """The numbers, rounded to five decimals."""
    numbers: Numbers = tensor.double().cpu().numpy().round(5)
    return numbers
