"""Recurrent cells, stacks of them, and an encoder that reads a sequence both ways.

    vanilla  h' = tanh(W x + U h)
    LSTM     c' = f c + i g,  h' = o tanh(c')
    GRU      h' = (1 - z) n + z h

A cell keeps everything it knows in one tensor, (batch parts dim): the LSTM's parts are h and c,
the others have h alone. Weights and gates are laid out as in torch's cells.

Source: Elman 1990; Hochreiter and Schmidhuber 1997; Cho et al. 2014; lecture 004.
"""

from collections.abc import Iterator, Sequence
from typing import cast

import torch
from torch import nn

from jumok.kernels import recurrent as kernel
from jumok.kernels.linear import Linear
from jumok.kernels.plain import is_unpatched
from jumok.layers.dropout import Dropout
from jumok.shapes import Allowed, Float, Int, States, Tensor

ONE_LAYER = (True, 1, 0.0, True, False, True)
"""torch's kernels: biases, one layer, no dropout, learning, one direction, the batch first."""

CellInputs = Float[Tensor, "batch length inner"]
CellInput = Float[Tensor, "batch inner"]
Projected = Float[Tensor, "batch gates"]
CellState = Float[Tensor, "batch parts dim"]
CellOutputs = Float[Tensor, "batch length dim"]


class Cell(nn.Module):
    """What reads one input and changes its state; each kind says how.

    Attributes:
        gates: how many vectors of `dim` an input is turned into.
        parts: how many vectors the state is made of; the first is what others see.
    """

    gates: int
    parts = 1

    def __init__(self, inner: int, dim: int) -> None:
        super().__init__()
        self.dim = dim
        self.input = Linear(inner, self.gates * dim)
        self.state = Linear(dim, self.gates * dim)
        self.input.stacked = self.state.stacked = self.gates
        with torch.no_grad():  # each gate on its own, as if it were a layer of its own
            for gate in self.input.weight.chunk(self.gates):
                nn.init.xavier_uniform_(gate)
            for gate in self.state.weight.chunk(self.gates):
                nn.init.orthogonal_(gate)

    def forward(self, inputs: CellInputs | CellInput, state: CellState) -> CellOutputs | CellState:
        """What others see after each input: by a kernel while learning, else step by step.

        Of one input more it gives the state that follows.
        """
        if inputs.ndim == 2:
            return self.advance(self.input(inputs), state)
        if (
            torch.is_grad_enabled()
            and is_unpatched(self.input, Linear)
            and is_unpatched(self.state, Linear)
        ):
            return self.read(inputs, state)
        projected = self.input(inputs)
        seen = []
        for position in range(inputs.shape[1]):
            state = self.advance(projected[:, position], state)
            seen.append(state[:, 0])
        return torch.stack(seen, dim=1)

    def step(self, inputs: CellInput, state: CellState) -> CellState:
        """The state after one input more."""
        after: CellState = self(inputs, state)
        return after

    def advance(self, projected: Projected, state: CellState) -> CellState:
        """The state after an input that `self.input` has projected."""
        raise NotImplementedError

    def read(self, inputs: CellInputs, state: CellState) -> CellOutputs:
        """All inputs at once by a kernel: the fast twin of `advance`."""
        raise NotImplementedError

    def weights(self) -> list[Tensor]:
        """As torch's kernels take them."""
        return [self.input.weight, self.state.weight, self.input.bias, self.state.bias]


class VanillaCell(Cell):
    """h' = tanh(W x + U h)."""

    gates = 1

    def advance(self, projected: Projected, state: CellState) -> CellState:
        return torch.tanh(projected + self.state(state[:, 0]))[:, None]

    def read(self, inputs: CellInputs, state: CellState) -> CellOutputs:
        first = state.transpose(0, 1).contiguous()
        seen, _ = torch.rnn_tanh(inputs, first, self.weights(), *ONE_LAYER)
        return seen


class LSTMCell(Cell):
    """i, f, g, o = W x + U h;  c' = sigmoid(f) c + sigmoid(i) tanh(g);  h' = sigmoid(o) tanh(c').

    The forget gate starts open (a bias of 1; Jozefowicz et al. 2015).
    """

    gates, parts = 4, 2

    def __init__(self, inner: int, dim: int) -> None:
        super().__init__(inner, dim)
        with torch.no_grad():
            self.input.bias[dim : 2 * dim] = 1.0

    def advance(self, projected: Projected, state: CellState) -> CellState:
        seen, kept = state.unbind(dim=1)
        write, forget, new, show = (projected + self.state(seen)).chunk(4, dim=-1)
        kept = forget.sigmoid() * kept + write.sigmoid() * new.tanh()
        return torch.stack([show.sigmoid() * kept.tanh(), kept], dim=1)

    def read(self, inputs: CellInputs, state: CellState) -> CellOutputs:
        first = [part[None].contiguous() for part in state.unbind(dim=1)]
        seen, _, _ = torch.lstm(inputs, first, self.weights(), *ONE_LAYER)
        return seen


class GRUCell(Cell):
    """r, z = sigmoid(W x + U h);  n = tanh(W_n x + r (U_n h));  h' = (1 - z) n + z h."""

    gates = 3

    def advance(self, projected: Projected, state: CellState) -> CellState:
        """The reset gate comes after U_n, as in torch (Cho et al. have it before)."""
        seen = state[:, 0]
        by_input, by_state = projected.chunk(3, dim=-1), self.state(seen).chunk(3, dim=-1)
        reset = torch.sigmoid(by_input[0] + by_state[0])
        keep = torch.sigmoid(by_input[1] + by_state[1])
        new = torch.tanh(by_input[2] + reset * by_state[2])
        return torch.lerp(new, seen, keep)[:, None]

    def read(self, inputs: CellInputs, state: CellState) -> CellOutputs:
        """All inputs at once, by a kernel of ours where it takes the widths, else by torch's."""
        seen, weight, bias = state[:, 0], self.state.weight, self.state.bias
        if kernel.serves(seen, weight):
            return kernel.gru(self.input(inputs), seen, weight, bias)
        first = state.transpose(0, 1).contiguous()
        seen, _ = torch.gru(inputs, first, self.weights(), *ONE_LAYER)
        return seen


CELLS: dict[str, type[Cell]] = {"rnn": VanillaCell, "lstm": LSTMCell, "gru": GRUCell}


class CellStack(nn.Module):
    """Cells one above the other, with dropout between them.

    Their states lie in one tensor, (batch layers parts dim), which begins as `shape` says.
    """

    def __init__(self, cells: Sequence[Cell], dropout: Dropout) -> None:
        super().__init__()
        self.cells = nn.ModuleList(cells)
        self.dropout = dropout
        self.shape = (len(cells), cells[0].parts, cells[0].dim)

    def __iter__(self) -> Iterator[Cell]:
        return cast(Iterator[Cell], iter(self.cells))

    def forward(
        self,
        inputs: CellInputs | CellInput,
        states: Float[Tensor, "batch layers parts dim"],
    ) -> CellOutputs | Float[Tensor, "batch layers parts dim"]:
        """What the last cell shows after each input; of one input more all states after it."""
        if inputs.ndim == 2:
            return self._after(inputs, states)
        for layer, cell in enumerate(self):
            inputs = cell(self.dropout(inputs) if layer else inputs, states[:, layer])
        return inputs

    def step(
        self, inputs: Float[Tensor, "batch inner"], states: Float[Tensor, "batch layers parts dim"]
    ) -> Float[Tensor, "batch layers parts dim"]:
        after: Tensor = self(inputs, states)
        return after

    def _after(
        self, inputs: CellInput, states: Float[Tensor, "batch layers parts dim"]
    ) -> Float[Tensor, "batch layers parts dim"]:
        after = []
        for layer, cell in enumerate(self):
            state = cell.step(self.dropout(inputs) if layer else inputs, states[:, layer])
            after.append(state)
            inputs = state[:, 0]
        return torch.stack(after, dim=1)


class RecurrentLayer(nn.Module):
    """One layer that reads a whole sequence, forwards or in both directions.

    Padding follows the end, so what is read forwards never sees it; for the other direction
    each row is turned around within its own length.

    Args:
        forwards, backwards: states of both directions are laid side by side; None: one direction.
    """

    def __init__(self, forwards: Cell, backwards: Cell | None) -> None:
        super().__init__()
        self.forwards = forwards
        self.backwards = backwards

    def forward(
        self, inputs: Float[Tensor, "batch length inner"], allowed: Allowed | None = None
    ) -> States:
        """What is known at every position; positions that are not allowed hold anything."""
        seen = self.forwards(inputs, _nothing_yet(self.forwards, inputs))
        if self.backwards is None:
            return seen
        turned = reversed_rows(inputs, allowed)
        behind = self.backwards(turned, _nothing_yet(self.backwards, inputs))
        return torch.cat([seen, reversed_rows(behind, allowed)], dim=-1)

    def last(self, states: States, allowed: Allowed | None = None) -> Float[Tensor, "batch dim"]:
        """What each direction knew when it had read everything."""
        forwards = states.shape[2] if self.backwards is None else self.forwards.dim
        return last_states(states, allowed, forwards)


def last_states(
    states: States, allowed: Allowed | None, forwards: int
) -> Float[Tensor, "batch dim"]:
    """What each direction of a layer knew when it had read everything.

    Args:
        forwards: how many numbers of each state are of the direction that ends with the text.
    """
    at_end = states[:, -1]
    if allowed is not None:
        end = allowed.sum(dim=1) - 1
        at_end = states[torch.arange(end.shape[0], device=end.device), end]
    return torch.cat([at_end[:, :forwards], states[:, 0, forwards:]], dim=-1)


def reversed_rows(states: States, allowed: Allowed | None) -> States:
    """Each row's real positions in reverse order; its padding stays where it is."""
    if allowed is None:
        return states.flip(1)
    return states.gather(1, _reversed_places(allowed)[..., None].expand_as(states))


def _reversed_places(allowed: Allowed) -> Int[Tensor, "batch source"]:
    lengths = allowed.sum(dim=1, keepdim=True)
    position = torch.arange(allowed.shape[1], device=allowed.device)
    return torch.where(allowed, lengths - 1 - position, position)


def _nothing_yet(
    cell: Cell, inputs: Float[Tensor, "batch length inner"]
) -> Float[Tensor, "batch parts dim"]:
    return inputs.new_zeros(inputs.shape[0], cell.parts, cell.dim)
