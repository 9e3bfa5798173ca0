"""What the layers of an RNN know at each word, what they would say, and what the others add to it.

A recurrent layer adds nothing to a stream: what it leaves lies in a space of its own, and is only
compared with what the same layer leaves elsewhere. So a word's state stands beside that of the same
word read alone: an encoder reads nothing but it, a decoder reads it first, with the same Memory.
The cosine of the two says how much the others have changed, layer by layer.

What a decoder says is read out from the state of its top layer, beside what it found in the Memory
and, in some, the word that it read. To hear a lower layer, its state stands in the place of the
top's (all are equally wide), and the rest stays; with zeros in that place nothing but the rest
speaks. At the top layer it is the model's own prediction. No layer below it was trained to be read
so.

Source: as in `lens.py`, for stacked RNNs; Sutskever et al. 2014 (stacks of them).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import nn

from jumok.inspection.capture import numpy_of
from jumok.inspection.intercept import hooked
from jumok.inspection.lens import lens_predictions, moved, named_predictions, rounded
from jumok.inspection.trace import Array
from jumok.models.memory import Memory
from jumok.models.recurrent import RecurrentEncoder
from jumok.models.recurrent_decoder import RecurrentDecoder
from jumok.shapes import Float, Int, Tensor

Layers = Float[Tensor, "batch layers positions dim"]


class RecurrentInputs(NamedTuple):
    """What a recurrent stack was given: tokens (1 positions), and a decoder a Memory."""

    tokens: Tensor
    memory: Memory | None = None


class RecurrentStates(NamedTuple):
    """What was known in a stack.

    Attributes:
        states: (layers + 1 positions dim), of each layer what others see of it; row 0 is the
            embedding. Where that is narrower or wider than a state, the narrower is filled up with
            zeros, which changes no cosine.
        read_out: (positions known), what each step of a decoder was read out from: the state of
            the top layer, then the rest. None: an encoder.
    """

    states: Float[Tensor, "layers positions dim"]
    read_out: Float[Tensor, "positions known"] | None = None


@contextmanager
def watch_recurrent(model: nn.Module) -> Iterator[dict[str, RecurrentInputs]]:
    """Keeps what each recurrent stack is given inside the block, by its path in the model."""
    given: dict[str, RecurrentInputs] = {}

    def reads(stack: str) -> Any:
        return lambda args: given.update({stack: RecurrentInputs(args[0])})

    def writes(stack: str) -> Any:
        def hear(args: tuple[Any, ...]) -> None:
            if len(args) == 2:  # a step gives its state, too
                given[stack] = RecurrentInputs(args[1], args[0])

        return hear

    with ExitStack() as watching:
        for path, module in model.named_modules():
            if isinstance(module, RecurrentEncoder | RecurrentDecoder):
                hear = reads(path) if isinstance(module, RecurrentEncoder) else writes(path)
                watching.enter_context(hooked(module, hear))
        yield given


@torch.inference_mode()
def known_at_words(
    model: nn.Module, given: Mapping[str, RecurrentInputs]
) -> dict[str, RecurrentStates]:
    """What every layer of every recurrent stack knew at each word; again, and step by step.

    The model is as it was then: with the same heads off and words blanked.
    """
    return {stack: _known(model.get_submodule(stack), *each) for stack, each in given.items()}


@torch.inference_mode()
def known_alone(
    model: nn.Module, given: Mapping[str, RecurrentInputs]
) -> dict[str, Float[Tensor, "layers positions dim"]]:
    """What every layer knows of each word that is read alone, `Known.states` otherwise."""
    found = {}
    for stack, (tokens, memory) in given.items():
        rows = torch.zeros(tokens.shape[1], dtype=torch.long, device=tokens.device)
        each = None if memory is None else memory.select(rows)
        module = model.get_submodule(stack)
        states, _ = _states(module, tokens.T, each)  # (words layers 1 dim)
        found[stack] = states[:, :, 0].transpose(0, 1)
    return found


def _known(
    stack: nn.Module, tokens: Int[Tensor, "1 positions"], memory: Memory | None
) -> RecurrentStates:
    states, read_out = _states(stack, tokens, memory)
    return RecurrentStates(states[0], None if read_out is None else read_out[0])


def _states(
    stack: nn.Module, tokens: Int[Tensor, "batch positions"], memory: Memory | None
) -> tuple[Layers, Float[Tensor, "batch positions known"] | None]:
    if isinstance(stack, RecurrentEncoder):
        return _read(stack, tokens), None
    assert isinstance(stack, RecurrentDecoder)
    assert memory is not None
    return _write(stack, memory, tokens)


def _read(encoder: RecurrentEncoder, tokens: Int[Tensor, "batch positions"]) -> Layers:
    states = encoder.embedding(tokens)
    layers = [states]
    for reader in encoder.readers:
        states = encoder.dropout(reader(states))
        layers.append(states)
    return _side_by_side(layers)


def _write(
    decoder: RecurrentDecoder, memory: Memory, tokens: Int[Tensor, "batch positions"]
) -> tuple[Layers, Float[Tensor, "batch positions known"]]:
    """Step by step, which gives the states of all at once."""
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
    """All as wide as the widest."""
    width = max(layer.shape[2] for layer in layers)
    return torch.stack([F.pad(layer, (0, width - layer.shape[2])) for layer in layers], dim=1)


def arrays_of(known: Mapping[str, RecurrentStates]) -> dict[str, Array]:
    """As `Trace.streams` has them."""
    return {stack: numpy_of(each.states) for stack, each in known.items()}


def recurrent_facts(
    model: nn.Module,
    known: Mapping[str, RecurrentStates],
    alone: Mapping[str, Float[Tensor, "layers positions dim"]],
    written: Sequence[int],
    pieces: Callable[[Sequence[int]], Sequence[str]] | None,
) -> dict[str, Any]:
    """What the page shows of recurrent layers, as `jumok.inspection.lens.layer_facts` of others.

    "moved" is from the same word read alone; "read" is "recurrent".
    """
    facts: dict[str, Any] = {}
    for stack, (states, read_out) in known.items():
        apart = torch.stack(
            [moved(one[None], other)[0] for one, other in zip(states, alone[stack], strict=True)]
        )
        facts[stack] = {"moved": rounded(apart), "read": "recurrent"}
        if read_out is None or pieces is None:
            continue
        decoder = model.get_submodule(stack)
        assert isinstance(decoder, RecurrentDecoder)
        stand_ins = _stand_ins(states, read_out, decoder.cells.shape[2])
        found = lens_predictions(_logits_of(decoder), nn.Identity(), stand_ins, written)
        assert found.written is not None
        facts[stack] |= {
            "best": named_predictions(found, pieces),
            "written": rounded(found.written),
        }
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
    """For each layer what is read out with its state in the place of the top's; row 0: with zeros.

    Args:
        dim: width of a state; `states` may be filled up beyond it.
    """
    stand_ins = read_out.repeat(len(states), 1, 1)
    stand_ins[0, :, :dim] = 0.0
    stand_ins[1:, :, :dim] = states[1:, :, :dim]
    return stand_ins
