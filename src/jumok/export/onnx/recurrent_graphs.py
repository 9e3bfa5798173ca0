"""The graphs of RNNs: an encoder of texts, and one step of a decoder whose state goes in and out.

The encoder also gives the decoder's first state, and the keys of the Memory, if there are any.
"""

from collections.abc import Iterator, Mapping

import torch
from torch import Tensor, nn

from jumok.attention.observe import Attention, observe, sites_of
from jumok.export.onnx.tracing import BATCH, READ, ROWS, SOURCE, Graph, GraphInput, tokens
from jumok.models.memory import Memory
from jumok.models.recurrent import RecurrentModel
from jumok.models.recurrent_decoder import AttentionDecoder, RecurrentDecoder, RecurrentState

Axes = Mapping[int, str]
PARTS = "cells", "covered", "shown"
"""What a state is made of, by its attributes: what a decoder does not have is left out."""
KEYS = "encoder_keys"


def first_states(decoder: RecurrentDecoder, memory: Memory) -> Iterator[Tensor]:
    """The state before the first word, and the keys, if they are not the Memory's states."""
    state = decoder.start(memory)
    for part in PARTS:
        if getattr(state, part) is not None:
            yield getattr(state, part).clone()
    if state.keys is not None and state.keys is not memory.states:
        yield state.keys


def first_outputs(decoder: RecurrentDecoder, source: Axes) -> list[tuple[str, Axes]]:
    """The names and axes of these; `source`: the axes of the Memory's states."""
    state = _example(decoder)
    outputs: list[tuple[str, Axes]] = [
        (f"present.{part}", source if part == "covered" else {0: BATCH}) for part in _parts(state)
    ]
    return [*outputs, (KEYS, source)] if _has_keys(state) else outputs


class ReadingGraph(nn.Module):
    """Token ids and which of them are real, to the Memory's states and the decoder's first."""

    def __init__(self, model: RecurrentModel) -> None:
        super().__init__()
        self.model = model

    def forward(self, *given: Tensor) -> tuple[Tensor, ...]:
        ids, real = given
        memory = self.model.encode(ids, real != 0)
        return memory.states, *first_states(self.model.decoder, memory)


class StepGraph(nn.Module):
    """One token after a state: its logits, the state after it, and where it looked.

    Args:
        padded: an input says which positions of the Memory are real; otherwise all are.
    """

    def __init__(self, decoder: RecurrentDecoder, *, padded: bool) -> None:
        super().__init__()
        self.decoder, self.padded = decoder, padded
        self.cross = sites_of(decoder, "cross")
        state = _example(decoder)
        self.parts, self.has_keys = _parts(state), _has_keys(state)

    def forward(self, *given: Tensor) -> tuple[Tensor, ...]:
        ids, states, *rest = given
        memory = Memory(states, rest.pop(0) != 0 if self.padded else None)
        keys: Tensor | None = states if isinstance(self.decoder, AttentionDecoder) else None
        if self.has_keys:
            keys = rest.pop(0)
        parts = dict(zip(self.parts, rest, strict=True))
        state = RecurrentState(
            parts["cells"],
            memory,
            torch.arange(states.shape[0]),
            keys,
            parts.get("covered"),
            parts.get("shown"),
        )
        weights: list[Tensor] = []

        def hear(_: str, attention: Attention) -> None:
            weights.append(attention.weights)

        with observe(self.decoder, hear, self.cross.__contains__):
            word = self.decoder.embedding(ids)[:, 0]
            shown, state = self.decoder.advance(word, state)
        logits: Tensor = self.decoder.output(shown)[:, None]
        return (logits, *(getattr(state, part) for part in self.parts), *weights)


def reading_graph(model: RecurrentModel) -> Graph:
    """The graph of a translator's encoder."""
    axes = {0: BATCH, 1: SOURCE}
    inputs = (
        GraphInput("input_ids", tokens(ROWS, READ), axes),
        GraphInput("attention_mask", torch.ones(ROWS, READ, dtype=torch.int64), axes),
    )
    source = {0: BATCH} if model.one_vector else axes
    outputs = [("last_hidden_state", source), *first_outputs(model.decoder, source)]
    return Graph("encoder_model", ReadingGraph(model), inputs, outputs)


def step_graph(decoder: RecurrentDecoder, *, padded: bool, positions: int | None) -> Graph:
    """Inputs in the order that `StepGraph` reads them; `padded` is its argument.

    Args:
        positions: of every Memory; None: any number.
    """
    module, state = StepGraph(decoder, padded=padded), _example(decoder, positions or READ)
    batch = {0: BATCH}
    source = batch if positions else {0: BATCH, 1: SOURCE}
    inputs = [
        GraphInput("input_ids", tokens(ROWS, 1), batch),
        GraphInput("encoder_hidden_states", state.memory.states, source),
    ]
    if padded:
        real = torch.ones(ROWS, state.memory.states.shape[1], dtype=torch.int64)
        inputs.append(GraphInput("encoder_attention_mask", real, source))
    if module.has_keys:
        assert state.keys is not None
        inputs.append(GraphInput(KEYS, state.keys, source))
    outputs: list[tuple[str, Axes]] = [("logits", batch)]
    for part in module.parts:
        axes = source if part == "covered" else batch
        inputs.append(GraphInput(f"past.{part}", getattr(state, part), axes))
        outputs.append((f"present.{part}", axes))
    attended = {0: BATCH} if positions else {0: BATCH, 3: SOURCE}
    outputs += [(f"cross_attentions.{number}", attended) for number in range(len(module.cross))]
    return Graph("decoder_model_merged", module, inputs, outputs)


@torch.no_grad()
def _example(decoder: RecurrentDecoder, positions: int = READ) -> RecurrentState:
    """A first state; the Memory is as wide as a cell."""
    return decoder.start(Memory(torch.randn(ROWS, positions, decoder.cells.shape[2])))


def _parts(state: RecurrentState) -> list[str]:
    return [part for part in PARTS if getattr(state, part) is not None]


def _has_keys(state: RecurrentState) -> bool:
    return state.keys is not None and state.keys is not state.memory.states
