"""The logit lens: the prediction after every layer; and how far each word's vector has moved.

The residual stream of a stack of blocks is a sum to which each block adds. The last norm and the
output matrix, applied to the stream after layer l, give the prediction so far (the "logit lens");
after the last layer it is the model's own prediction. A post-norm model has no final norm: each
layer ends with its own norm, and the output matrix reads its result. Only the last layer was
trained to be read by the output matrix.

The layers of an RNN have no common stream: a state is comparable only with other states of its
layer. So a word's state is compared with that of the same word read alone: by an encoder without
other words, by a decoder as its first word, with the same Memory. A decoder predicts from the state
of its top layer, the context vector and, in some models, the word that it read. The prediction of a
lower layer is computed with its state in place of the top layer's (all have the same width); row 0,
with zeros in that place, shows what the other inputs predict.

Source: nostalgebraist 2020, interpreting GPT: the logit lens; Elhage et al. 2021, A mathematical
framework for Transformer circuits, "the residual stream"; Sutskever et al. 2014 (stacks of RNNs).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import nn

from jumok.attention.overrides import hooked
from jumok.inspection.findings import Predictions, StackLayers
from jumok.inspection.hooks.recording import RecordedPass
from jumok.inspection.sites import float64_of, numpy_of
from jumok.inspection.trace import Array
from jumok.layers.block import Stack
from jumok.layers.embedding import Embedding
from jumok.layers.interfaces import Norm
from jumok.layers.residual import PostNorm
from jumok.models.decoder import TransformerDecoder
from jumok.models.masked import MaskedLanguageModel, MissingHead
from jumok.models.memory import Memory, SequenceToSequence
from jumok.models.recurrent import RecurrentEncoder
from jumok.models.recurrent_decoder import RecurrentDecoder
from jumok.shapes import Float, Int, Tensor

LENS_TOKENS = 5
DECIMALS = 5

OutputLayer = Callable[[Float[Tensor, "positions dim"]], Float[Tensor, "positions vocabulary"]]

RecurrentLayers = Float[Tensor, "batch layers positions dim"]
"""The output of each layer of a stack; row 0 is the embedding."""


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


def output_layer_of(model: nn.Module, stack: str) -> OutputLayer | None:
    """The output layer that reads a stack's normalised states; None: the stack has none."""
    parent = model.get_submodule(stack)
    if isinstance(parent, TransformerDecoder):
        return parent.logits
    if isinstance(model, MaskedLanguageModel) and not isinstance(model.head, MissingHead):
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
    logits: OutputLayer,
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
    """(positions dim) by stack: the embeddings, without positions, of the batch's first row."""
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

    Stacks that read no words are left out, and those of RNNs (`recurrent_facts`).

    Args:
        streams: those of the recorded pass, of its first row.
    """
    facts: dict[str, StackLayers] = {}
    words = _words_read(model, recorded)
    for stack, array in streams.items():
        if stack not in words:
            continue
        stream = torch.from_numpy(array).to(words[stack])
        facts[stack] = StackLayers(float64_of(moved(stream, words[stack]), DECIMALS))
        logits = output_layer_of(model, stack)
        if logits is not None:
            norm = last_norm(model, stack)
            every = isinstance(model.get_submodule(stack), TransformerDecoder)
            predictions = lens_predictions(logits, norm, stream, written if every else None)
            facts[stack] = replace(
                facts[stack],
                read="post" if isinstance(norm, nn.Identity) else "pre",
                best=named_predictions(predictions, pieces),
                written=None
                if predictions.written is None
                else float64_of(predictions.written, DECIMALS),
            )
    return facts


def named_predictions(
    predictions: LensPredictions, pieces: Callable[[Sequence[int]], Sequence[str]]
) -> Predictions:
    """For each layer and position the tokens with their probabilities."""
    probabilities = float64_of(predictions.probabilities, DECIMALS).tolist()
    return tuple(
        tuple(
            tuple(zip(pieces(tokens), values, strict=True))
            for tokens, values in zip(*layer, strict=True)
        )
        for layer in zip(predictions.tokens.tolist(), probabilities, strict=True)
    )


class RecurrentInputs(NamedTuple):
    """The inputs of a recurrent stack: tokens (1 positions), and for a decoder a Memory."""

    tokens: Tensor
    memory: Memory | None = None


class RecurrentStates(NamedTuple):
    """The states of a stack.

    Attributes:
        states: the output of each layer; row 0 is the embedding. Where widths differ, the narrower
            rows are padded with zeros, which changes no cosine.
        read_out: (positions known), the inputs of a decoder's prediction at each step: the state
            of the top layer, then the rest. None: an encoder.
    """

    states: Float[Tensor, "layers positions dim"]
    read_out: Float[Tensor, "positions known"] | None = None


@torch.inference_mode()
def recurrent_inputs(model: nn.Module, recorded: RecordedPass) -> dict[str, RecurrentInputs]:
    """The inputs of each recurrent stack in a recorded pass, by its path in the model."""
    inputs: dict[str, RecurrentInputs] = {}
    for path, module in model.named_modules():
        if isinstance(module, RecurrentEncoder):
            inputs[path] = RecurrentInputs(recorded.read_by(path))
        elif isinstance(module, RecurrentDecoder):
            assert isinstance(model, SequenceToSequence)
            assert recorded.source is not None
            memory = model.encode(recorded.source)
            inputs[path] = RecurrentInputs(recorded.read_by(path), memory)
    return inputs


@torch.inference_mode()
def known_at_words(
    model: nn.Module, given: Mapping[str, RecurrentInputs]
) -> dict[str, RecurrentStates]:
    """The states of every recurrent stack at each word, recomputed step by step.

    The model must have the same changes (ablated heads, occluded words) as when it ran.
    """
    known = {}
    for stack, inputs in given.items():
        states, read_out = _states(model.get_submodule(stack), *inputs)
        known[stack] = RecurrentStates(states[0], None if read_out is None else read_out[0])
    return known


@torch.inference_mode()
def known_alone(
    model: nn.Module, given: Mapping[str, RecurrentInputs]
) -> dict[str, Float[Tensor, "layers positions dim"]]:
    """The states of every layer for each word read alone, like `RecurrentStates.states`."""
    alone = {}
    for stack, (tokens, memory) in given.items():
        rows = torch.zeros(tokens.shape[1], dtype=torch.long, device=tokens.device)
        memories = None if memory is None else memory.select(rows)
        module = model.get_submodule(stack)
        states, _ = _states(module, tokens.T, memories)  # (words layers 1 dim)
        alone[stack] = states[:, :, 0].transpose(0, 1)
    return alone


def _states(
    stack: nn.Module, tokens: Int[Tensor, "batch positions"], memory: Memory | None
) -> tuple[RecurrentLayers, Float[Tensor, "batch positions known"] | None]:
    if isinstance(stack, RecurrentEncoder):
        return _encoder_states(stack, tokens), None
    assert isinstance(stack, RecurrentDecoder)
    assert memory is not None
    return _decoder_states(stack, memory, tokens)


def _encoder_states(
    encoder: RecurrentEncoder, tokens: Int[Tensor, "batch positions"]
) -> RecurrentLayers:
    states = encoder.embedding(tokens)
    layers = [states]
    for reader in encoder.readers:
        states = encoder.dropout(reader(states))
        layers.append(states)
    return _side_by_side(layers)


def _decoder_states(
    decoder: RecurrentDecoder, memory: Memory, tokens: Int[Tensor, "batch positions"]
) -> tuple[RecurrentLayers, Float[Tensor, "batch positions known"]]:
    """Runs the decoder step by step and stacks the states of all steps."""
    words, state = decoder.embedding(tokens), decoder.start(memory)
    cells: list[Tensor] = []
    known: list[Tensor] = []
    with hooked(decoder.readout, lambda args: known.append(args[0])):
        for position in range(tokens.shape[1]):
            _, state = decoder.advance(words[:, position], state)
            cells.append(state.cells[:, :, 0])  # (batch layers dim)
    layers = torch.stack(cells, dim=2).unbind(dim=1)
    return _side_by_side([words, *layers]), torch.stack(known, dim=1)


def _side_by_side(layers: Sequence[Float[Tensor, "batch positions _"]]) -> RecurrentLayers:
    width = max(layer.shape[2] for layer in layers)
    return torch.stack([F.pad(layer, (0, width - layer.shape[2])) for layer in layers], dim=1)


def arrays_of(known: Mapping[str, RecurrentStates]) -> dict[str, Array]:
    """The states in the form of `Trace.streams`."""
    return {stack: numpy_of(each.states) for stack, each in known.items()}


def recurrent_facts(
    model: nn.Module,
    known: Mapping[str, RecurrentStates],
    alone: Mapping[str, Float[Tensor, "layers positions dim"]],
    written: Sequence[int],
    pieces: Callable[[Sequence[int]], Sequence[str]],
) -> dict[str, StackLayers]:
    """The layer analysis of recurrent stacks, as `layer_facts` of others."""
    facts: dict[str, StackLayers] = {}
    for stack, (states, read_out) in known.items():
        apart = torch.stack(
            [moved(one[None], other)[0] for one, other in zip(states, alone[stack], strict=True)]
        )
        facts[stack] = StackLayers(float64_of(apart, DECIMALS), "recurrent")
        if read_out is None:
            continue
        decoder = model.get_submodule(stack)
        assert isinstance(decoder, RecurrentDecoder)
        stand_ins = _stand_ins(states, read_out, decoder.cells.shape[2])
        predictions = lens_predictions(_readout_of(decoder), nn.Identity(), stand_ins, written)
        assert predictions.written is not None
        facts[stack] = replace(
            facts[stack],
            best=named_predictions(predictions, pieces),
            written=float64_of(predictions.written, DECIMALS),
        )
    return facts


def _readout_of(decoder: RecurrentDecoder) -> OutputLayer:
    return lambda known: decoder.output(decoder.show(known))


def _stand_ins(
    states: Float[Tensor, "layers positions width"],
    read_out: Float[Tensor, "positions known"],
    dim: int,
) -> Float[Tensor, "layers positions known"]:
    """For each layer the prediction's inputs with its state in place of the top's; row 0: zeros.

    Args:
        dim: width of a state; `states` may be padded beyond it.
    """
    stand_ins = read_out.repeat(len(states), 1, 1)
    stand_ins[0, :, :dim] = 0.0
    stand_ins[1:, :, :dim] = states[1:, :, :dim]
    return stand_ins
