"""A decoder for texts longer than its context: when that is full, the older half is dropped."""

from dataclasses import dataclass
from typing import Generic, TypeVar

import torch

from jumok.errors import ConfigError
from jumok.models.memory import Decoder, Memory, read
from jumok.shapes import Float, Int, Tensor

State = TypeVar("State")


@dataclass
class WindowState(Generic[State]):
    """The inner decoder's state, and what it has read since its window began."""

    inner: State
    memory: Memory
    tokens: Int[Tensor, "batch read"]


class Window(Generic[State]):
    """Reads at most `context` tokens, then restarts with the last half of them.

    From then on every prediction has half a context or more. Each token is read twice on average,
    whereas moving the window by one token a step would read `context` tokens at every step.

    Raises:
        ConfigError: a context below 2 tokens.
    """

    def __init__(self, decoder: Decoder[State], context: int) -> None:
        if context < 2:
            raise ConfigError(
                "a window needs at least two tokens of context.",
                expected="2 or more",
                got=str(context),
            )
        self._decoder, self._context = decoder, context
        self.vocabulary_size = decoder.vocabulary_size

    def start(self, memory: Memory) -> WindowState[State]:
        nothing = torch.empty(
            memory.states.shape[0], 0, dtype=torch.long, device=memory.states.device
        )
        return WindowState(self._decoder.start(memory), memory, nothing)

    def step(
        self, tokens: Int[Tensor, " batch"], state: WindowState[State]
    ) -> tuple[Float[Tensor, "batch vocabulary"], WindowState[State]]:
        self._make_room(state)
        logits, state.inner = self._decoder.step(tokens, state.inner)
        state.tokens = torch.cat([state.tokens, tokens[:, None]], dim=1)
        return logits, state

    def read_all(
        self, tokens: Int[Tensor, "batch new"], state: WindowState[State]
    ) -> tuple[Float[Tensor, "batch new vocabulary"], WindowState[State]]:
        columns = []
        while tokens.shape[1]:
            self._make_room(state)
            room = self._context - state.tokens.shape[1]
            fitting, tokens = tokens[:, :room], tokens[:, room:]
            logits, state.inner = read(self._decoder, fitting, state.inner)
            state.tokens = torch.cat([state.tokens, fitting], dim=1)
            columns.append(logits)
        return torch.cat(columns, dim=1), state

    def reorder(self, state: WindowState[State], rows: Int[Tensor, " rows"]) -> WindowState[State]:
        inner = self._decoder.reorder(state.inner, rows)
        return WindowState(inner, state.memory.select(rows), state.tokens[rows])

    def forward(
        self, memory: Memory, tokens: Int[Tensor, "batch target"]
    ) -> Float[Tensor, "batch target vocabulary"]:
        return self.read_all(tokens, self.start(memory))[0]

    def _make_room(self, state: WindowState[State]) -> None:
        """Restarts a full window with its last half."""
        if state.tokens.shape[1] < self._context:
            return
        state.tokens = state.tokens[:, -(self._context // 2) :]
        state.inner = self._decoder.start(state.memory)
        _, state.inner = read(self._decoder, state.tokens, state.inner)
