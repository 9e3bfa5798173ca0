"""RNN decoders, which differ in the use of the Memory.

    first state       s_t = f(s_{t-1}, y_{t-1}), and the Memory is where s_0 comes from
    every step        s_t = f(s_{t-1}, y_{t-1}, c), with one context c for the whole sequence
    Bahdanau's order  c_t = attend(s_{t-1});  s_t = f(s_{t-1}, y_{t-1}, c_t)
    Luong's order     s_t = f(s_{t-1}, y_{t-1});  c_t = attend(s_t)
    input feeding     s_t = f(s_{t-1}, y_{t-1}, h_{t-1});  c_t = attend(s_t)
    GNMT's order      as Luong's, and a layer above keeps c_t: u_t = g(u_{t-1}, [s_t, c_t])

`attend` is attention over the Memory. The output of a step is h_t = tanh(W [s_t, ...]), from which
the next word is predicted; without a readout it is s_t. The first state is tanh(W m), with m the
mean of the Memory or the encoder's last states, or m itself.

Source: Sutskever et al. 2014; Cho et al. 2014; Bahdanau et al. 2015; Luong et al. 2015,
section 3.3 (input feeding); Wu et al. 2016, section 3 (GNMT); lecture 004.
"""

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import nn

from jumok.attention.events import observable
from jumok.attention.scored import ScoredAttention
from jumok.kernels.linear import Linear, Projection
from jumok.layers.dropout import Dropout
from jumok.layers.embedding import Embedding
from jumok.layers.recurrent import CellStack, last_states
from jumok.models.memory import Memory
from jumok.shapes import Float, Int, Tensor

Word = Float[Tensor, "batch embedding"]
Shown = Float[Tensor, "batch shown"]


@dataclass(frozen=True)
class RecurrentState:
    """The decoder's state between steps.

    Attributes:
        keys: the keys of the Memory; None without attention.
        covered: the total weight of each position so far; None where it is not counted.
        shown: h of the step before; None where it is not fed back.
        memory_rows: which row of the Memory each row reads. In beam search the rows of one sentence
            are permuted among themselves, so its Memory need not be copied.
        position: the number of the next query.
    """

    cells: Float[Tensor, "batch layers parts dim"]
    memory: Memory
    memory_rows: Int[Tensor, " batch"]
    keys: Float[Tensor, "batch source _"] | None = None
    covered: Float[Tensor, "batch source"] | None = None
    shown: Float[Tensor, "batch shown"] | None = None
    position: int = 0

    @property
    def seen(self) -> Float[Tensor, "batch dim"]:
        """The output of the last layer."""
        return self.cells[:, -1, 0]

    def select(self, rows: Int[Tensor, " rows"]) -> "RecurrentState":
        """Row i becomes the old row rows[i]."""
        memory, memory_rows, keys = self.memory, self.memory_rows[rows], self.keys
        if not torch.equal(memory_rows, self.memory_rows):
            memory, keys = memory.select(rows), None if keys is None else keys[rows]
        return RecurrentState(
            self.cells[rows],
            memory,
            memory_rows,
            keys,
            None if self.covered is None else self.covered[rows],
            None if self.shown is None else self.shown[rows],
            self.position,
        )


@dataclass(frozen=True)
class DecoderParts:
    """The parts of every RNN decoder.

    Attributes:
        first: from one vector of the Memory to the first states; None: they are that vector.
        forwards: that vector is the encoder's last states, of which so many numbers are those of
            the direction that ends with the text; None: it is the mean of the Memory.
        readout: from [state, ...] to a step's output h, of the width of `output`; an Identity: h is
            the state.
        output: from h to logits.
    """

    embedding: Embedding
    cells: CellStack
    first: Linear | None
    forwards: int | None
    readout: Linear | nn.Identity
    dropout: Dropout
    output: Projection


class RecurrentDecoder(nn.Module):
    """An RNN that uses the Memory for its first state only."""

    packs = False  # its state carries over from one word to the next

    def __init__(self, parts: DecoderParts) -> None:
        super().__init__()
        self.vocabulary_size = parts.output.weight.shape[0]
        self.embedding = parts.embedding
        self.cells = parts.cells
        self.first = parts.first
        self.forwards = parts.forwards
        self.readout = parts.readout
        self.dropout = parts.dropout
        self.output = parts.output

    @observable
    def hidden(
        self, memory: Memory, tokens: Int[Tensor, "batch target"]
    ) -> Float[Tensor, "batch target shown"]:
        seen = self.cells(self.embedding(tokens), self.start(memory).cells)
        return self.show(seen)

    @observable
    def forward(
        self,
        memory: Memory | None,
        tokens: Int[Tensor, "batch target"],
        state: RecurrentState | None = None,
    ) -> Any:
        """The logits after every prefix of `tokens`: (batch target vocabulary).

        Args:
            state: the state after earlier tokens, with the Memory: one token a row then continues
                from it, and the state after it is returned too. None: `tokens` are the whole text.
        """
        if state is None:
            assert memory is not None
            return self.output(self.hidden(memory, tokens))
        shown, state = self.advance(self.embedding(tokens)[:, 0], state)
        return self.output(shown)[:, None], state

    @observable
    def start(self, memory: Memory) -> RecurrentState:
        """The first states, and the Memory's keys once for all steps."""
        rows = torch.arange(memory.states.shape[0], device=memory.states.device)
        if self.forwards is None:
            known = memory.mean()
        else:
            known = last_states(memory.states, memory.allowed, self.forwards)
        if self.first is None:
            cells = known[:, None, None].expand(-1, *self.cells.shape)
        else:
            cells = torch.tanh(self.first(known)).view(-1, *self.cells.shape)
        return RecurrentState(cells, memory, rows)

    @observable
    def step(
        self, tokens: Int[Tensor, " batch"], state: RecurrentState
    ) -> tuple[Float[Tensor, "batch vocabulary"], RecurrentState]:
        logits, state = self(None, tokens[:, None], state)
        return logits[:, 0], state

    def advance(self, word: Word, state: RecurrentState) -> tuple[Shown, RecurrentState]:
        """One step: its h, and the state after it."""
        state = replace(state, cells=self.cells.step(word, state.cells))
        return self.show(state.seen), state

    @observable
    def reorder(self, state: RecurrentState, rows: Int[Tensor, " rows"]) -> RecurrentState:
        return state.select(rows)

    def show(self, *known: Float[Tensor, "*axes _"]) -> Float[Tensor, "*axes shown"]:
        """tanh(W [known ...]), or what is known, with dropout."""
        joined = known[0] if len(known) == 1 else torch.cat(known, dim=-1)
        read: Tensor = self.readout(joined)
        shown: Tensor = self.dropout(read if read is joined else torch.tanh(read))
        return shown

    def one_by_one(
        self, memory: Memory, tokens: Int[Tensor, "batch target"]
    ) -> Float[Tensor, "batch target shown"]:
        """`hidden` step by step, for models whose steps depend on the previous attention."""
        state, words = self.start(memory), self.embedding(tokens)
        shown = []
        for position in range(tokens.shape[1]):
            one, state = self.advance(words[:, position], state)
            shown.append(one)
        return torch.stack(shown, dim=1)


class ContextDecoder(RecurrentDecoder):
    """An RNN with the same context vector at every step: the mean of the Memory."""

    @observable
    def hidden(
        self, memory: Memory, tokens: Int[Tensor, "batch target"]
    ) -> Float[Tensor, "batch target shown"]:
        words = self.embedding(tokens)
        context = memory.mean()[:, None].expand(-1, tokens.shape[1], -1)
        seen = self.cells(torch.cat([words, context], dim=-1), self.start(memory).cells)
        return self.show(seen, context, words)

    def advance(self, word: Word, state: RecurrentState) -> tuple[Shown, RecurrentState]:
        context = state.memory.mean()
        cells = self.cells.step(torch.cat([word, context], dim=-1), state.cells)
        state = replace(state, cells=cells)
        return self.show(state.seen, context, word), state


class AttentionDecoder(RecurrentDecoder):
    """An RNN that attends to the Memory at every step.

    Args:
        covers: sum up the weights of each position, for a score function with coverage.
    """

    def __init__(self, parts: DecoderParts, attention: ScoredAttention, covers: bool) -> None:
        super().__init__(parts)
        self.attention = attention
        self.covers = covers

    @observable
    def start(self, memory: Memory) -> RecurrentState:
        state = super().start(memory)
        covered = memory.states.new_zeros(memory.states.shape[:2]) if self.covers else None
        return replace(state, keys=self.attention.keys(memory.states), covered=covered)

    def attend(
        self, query: Float[Tensor, "batch dim"], state: RecurrentState
    ) -> tuple[Float[Tensor, "batch memory_dim"], RecurrentState]:
        """The context vector of one query a row, and the state with the updated coverage."""
        memory = state.memory
        assert state.keys is not None
        context, weights = self.attention(
            query[:, None],
            state.keys,
            memory.states,
            memory.allowed,
            state.covered,
            state.position,
        )
        covered = None if state.covered is None else state.covered + weights[:, 0]
        return context[:, 0], replace(state, covered=covered, position=state.position + 1)


class BahdanauDecoder(AttentionDecoder):
    """Attends with the previous state, then reads the word and the context vector."""

    @observable
    def hidden(
        self, memory: Memory, tokens: Int[Tensor, "batch target"]
    ) -> Float[Tensor, "batch target shown"]:
        """Only the RNN and its attention run step by step; h is computed for all steps at once."""
        state, words = self.start(memory), self.embedding(tokens)
        seen, contexts = [], []
        for position in range(tokens.shape[1]):
            context, state = self.read(words[:, position], state)
            seen.append(state.seen)
            contexts.append(context)
        return self.show(torch.stack(seen, dim=1), torch.stack(contexts, dim=1), words)

    def advance(self, word: Word, state: RecurrentState) -> tuple[Shown, RecurrentState]:
        context, state = self.read(word, state)
        return self.show(state.seen, context, word), state

    def read(
        self, word: Word, state: RecurrentState
    ) -> tuple[Float[Tensor, "batch memory_dim"], RecurrentState]:
        """The context vector of the previous state, and the state after reading it and the word."""
        context, state = self.attend(state.seen, state)
        cells = self.cells.step(torch.cat([word, context], dim=-1), state.cells)
        return context, replace(state, cells=cells)


class GatedDecoder(BahdanauDecoder):
    """Bahdanau's order with a gate on the context vector: sigmoid(w s) c.

    Source: Xu et al. 2015, section 4.2.1, the scalar beta.
    """

    def __init__(
        self, parts: DecoderParts, attention: ScoredAttention, covers: bool, gate: Linear
    ) -> None:
        super().__init__(parts, attention, covers)
        self.gate = gate

    def attend(
        self, query: Float[Tensor, "batch dim"], state: RecurrentState
    ) -> tuple[Float[Tensor, "batch memory_dim"], RecurrentState]:
        context, state = super().attend(query, state)
        return torch.sigmoid(self.gate(query)) * context, state


class LuongDecoder(AttentionDecoder):
    """Reads the word, then attends with the new state: the RNN does not depend on the context."""

    @observable
    def hidden(
        self, memory: Memory, tokens: Int[Tensor, "batch target"]
    ) -> Float[Tensor, "batch target shown"]:
        if self.covers:
            return self.one_by_one(memory, tokens)
        return self.show(*self.whole(self.embedding(tokens), self.start(memory)))

    def whole(
        self, words: Float[Tensor, "batch target embedding"], state: RecurrentState
    ) -> tuple[Float[Tensor, "batch target dim"], Float[Tensor, "batch target memory_dim"]]:
        """All states at once, and their context vectors."""
        seen = self.cells(words, state.cells)
        return seen, self.contexts_of(seen, state)

    def contexts_of(
        self, seen: Float[Tensor, "batch target dim"], state: RecurrentState
    ) -> Float[Tensor, "batch target memory_dim"]:
        """The context vectors of all states."""
        memory = state.memory
        context, _ = self.attention(seen, state.keys, memory.states, memory.allowed)
        return context

    def advance(self, word: Word, state: RecurrentState) -> tuple[Shown, RecurrentState]:
        state = replace(state, cells=self.cells.step(word, state.cells))
        context, state = self.attend(state.seen, state)
        return self.show(state.seen, context), state


class GNMTDecoder(LuongDecoder):
    """The first layer attends; the layers above read its state and its context vector.

    So the layers above keep a memory of the contexts, and no layer depends on another's previous
    step: each computes the whole sequence at once.
    """

    def whole(
        self, words: Float[Tensor, "batch target embedding"], state: RecurrentState
    ) -> tuple[Float[Tensor, "batch target dim"], Float[Tensor, "batch target memory_dim"]]:
        """All states of the last layer at once, and the context vectors of the first layer."""
        first, *above = self.cells
        seen = first(words, state.cells[:, 0])
        context = self.contexts_of(seen, state)
        for layer, cell in enumerate(above, start=1):
            seen = cell(self.beside(seen, context), state.cells[:, layer])
        return seen, context

    def advance(self, word: Word, state: RecurrentState) -> tuple[Shown, RecurrentState]:
        """One step: the lowest layer attends, and all above read its context vector."""
        first, *above = self.cells
        cells = [first.step(word, state.cells[:, 0])]
        context, state = self.attend(cells[0][:, 0], state)
        for layer, cell in enumerate(above, start=1):
            cells.append(cell.step(self.beside(cells[-1][:, 0], context), state.cells[:, layer]))
        state = replace(state, cells=torch.stack(cells, dim=1))
        return self.show(state.seen, context), state

    def beside(
        self, seen: Float[Tensor, "*axes dim"], context: Float[Tensor, "*axes memory_dim"]
    ) -> Float[Tensor, "*axes _"]:
        """The input of a layer above the first, with the dropout between layers."""
        read: Tensor = self.cells.dropout(torch.cat([seen, context], dim=-1))
        return read


class FeedingDecoder(AttentionDecoder):
    """Luong's order, with h of the previous step as a further input."""

    @observable
    def hidden(
        self, memory: Memory, tokens: Int[Tensor, "batch target"]
    ) -> Float[Tensor, "batch target shown"]:
        return self.one_by_one(memory, tokens)

    @observable
    def start(self, memory: Memory) -> RecurrentState:
        shown = memory.states.new_zeros(memory.states.shape[0], self.output.weight.shape[1])
        return replace(super().start(memory), shown=shown)

    def advance(self, word: Word, state: RecurrentState) -> tuple[Shown, RecurrentState]:
        assert state.shown is not None
        cells = self.cells.step(torch.cat([word, state.shown], dim=-1), state.cells)
        context, state = self.attend(cells[:, -1, 0], replace(state, cells=cells))
        shown = self.show(state.seen, context)
        return shown, replace(state, shown=shown)
