"""The states of an RNN's layers at each word, their predictions, and the effect of other words.

A recurrent layer adds nothing to a residual stream: its states lie in a space of their own, and are
comparable only with other states of the same layer. So a word's state is compared with that of the
same word read alone: by an encoder without other words, by a decoder as its first word, with the
same Memory. The cosine of the two shows the effect of the other words, layer by layer.

A decoder predicts from the state of its top layer, the context vector and, in some models, the word
that it read. The prediction of a lower layer is computed with its state in place of the top
layer's (all have the same width) and the same other inputs; row 0, with zeros in that place, shows
what the other inputs predict. At the top layer it is the model's own prediction. No lower layer was
trained to be read like this.

Source: as in `lens.py`, for stacked RNNs; Sutskever et al. 2014 (stacks of them).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import nn

from jumok.inspection.findings import StackLayers
from jumok.inspection.hooks.intercept import hooked
from jumok.inspection.hooks.recording import RecordedPass
from jumok.inspection.lens import lens_predictions, moved, named_predictions, rounded
from jumok.inspection.sites import numpy_of
from jumok.inspection.trace import Array
from jumok.models.memory import Memory, SequenceToSequence
from jumok.models.recurrent import RecurrentEncoder
from jumok.models.recurrent_decoder import RecurrentDecoder
from jumok.shapes import Float, Int, Tensor

Layers = Float[Tensor, "batch layers positions dim"]


class RecurrentInputs(NamedTuple):
    """The inputs of a recurrent stack: tokens (1 positions), and for a decoder a Memory."""

    tokens: Tensor
    memory: Memory | None = None


class RecurrentStates(NamedTuple):
    """The states of a stack.

    Attributes:
        states: (layers + 1 positions dim), the output of each layer; row 0 is the embedding. Where
            widths differ, the narrower rows are padded with zeros, which changes no cosine.
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
    return {
        stack: _stack_states(model.get_submodule(stack), *each) for stack, each in given.items()
    }


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


def _stack_states(
    stack: nn.Module, tokens: Int[Tensor, "1 positions"], memory: Memory | None
) -> RecurrentStates:
    states, read_out = _states(stack, tokens, memory)
    return RecurrentStates(states[0], None if read_out is None else read_out[0])


def _states(
    stack: nn.Module, tokens: Int[Tensor, "batch positions"], memory: Memory | None
) -> tuple[Layers, Float[Tensor, "batch positions known"] | None]:
    if isinstance(stack, RecurrentEncoder):
        return _encoder_states(stack, tokens), None
    assert isinstance(stack, RecurrentDecoder)
    assert memory is not None
    return _decoder_states(stack, memory, tokens)


def _encoder_states(encoder: RecurrentEncoder, tokens: Int[Tensor, "batch positions"]) -> Layers:
    states = encoder.embedding(tokens)
    layers = [states]
    for reader in encoder.readers:
        states = encoder.dropout(reader(states))
        layers.append(states)
    return _side_by_side(layers)


def _decoder_states(
    decoder: RecurrentDecoder, memory: Memory, tokens: Int[Tensor, "batch positions"]
) -> tuple[Layers, Float[Tensor, "batch positions known"]]:
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


def _side_by_side(layers: Sequence[Float[Tensor, "batch positions _"]]) -> Layers:
    """Pads all tensors to the width of the widest."""
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
    """The layer analysis of recurrent stacks, as `jumok.inspection.lens.layer_facts` of others."""
    facts: dict[str, StackLayers] = {}
    for stack, (states, read_out) in known.items():
        apart = torch.stack(
            [moved(one[None], other)[0] for one, other in zip(states, alone[stack], strict=True)]
        )
        facts[stack] = StackLayers(rounded(apart), "recurrent")
        if read_out is None:
            continue
        decoder = model.get_submodule(stack)
        assert isinstance(decoder, RecurrentDecoder)
        stand_ins = _stand_ins(states, read_out, decoder.cells.shape[2])
        predictions = lens_predictions(_logits_of(decoder), nn.Identity(), stand_ins, written)
        assert predictions.written is not None
        facts[stack] = replace(
            facts[stack],
            best=named_predictions(predictions, pieces),
            written=rounded(predictions.written),
        )
    return facts


def _logits_of(
    decoder: RecurrentDecoder,
) -> Callable[[Float[Tensor, "positions known"]], Float[Tensor, "positions vocabulary"]]:
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
