"""Cells and readers against torch's own, on the same weights."""

import pytest
import torch
from torch import nn

from jumok.kernels.noise import Noise
from jumok.layers.dropout import Dropout
from jumok.layers.recurrent import CELLS, Cell, CellStack, RecurrentLayer, reversed_rows

THEIRS = {"rnn": nn.RNN, "lstm": nn.LSTM, "gru": nn.GRU}
INNER, DIM, BATCH, LENGTH = 5, 7, 3, 11
every_cell = pytest.mark.parametrize("kind", CELLS)


def torch_twin(cell: Cell, kind: str) -> nn.RNNBase:
    theirs = THEIRS[kind](INNER, DIM, batch_first=True)
    with torch.no_grad():
        theirs.weight_ih_l0.copy_(cell.input.weight)
        theirs.weight_hh_l0.copy_(cell.state.weight)
        theirs.bias_ih_l0.copy_(cell.input.bias)
        theirs.bias_hh_l0.copy_(cell.state.bias)
    return theirs


def rough_cell(kind: str, inner: int = INNER) -> Cell:
    torch.manual_seed(2)
    cell = CELLS[kind](inner, DIM)
    with torch.no_grad():
        cell.input.bias.normal_()
        cell.state.bias.normal_()
    return cell


def first(cell: Cell) -> torch.Tensor:
    return torch.randn(BATCH, cell.parts, DIM)


def theirs_first(state: torch.Tensor) -> torch.Tensor | tuple[torch.Tensor, ...]:
    parts = tuple(part[None].contiguous() for part in state.unbind(1))
    return parts if len(parts) > 1 else parts[0]


@every_cell
def test_a_step_is_that_of_torchs_cell(kind):
    cell = rough_cell(kind)
    theirs = {"rnn": nn.RNNCell, "lstm": nn.LSTMCell, "gru": nn.GRUCell}[kind](INNER, DIM)
    with torch.no_grad():
        theirs.weight_ih.copy_(cell.input.weight)
        theirs.weight_hh.copy_(cell.state.weight)
        theirs.bias_ih.copy_(cell.input.bias)
        theirs.bias_hh.copy_(cell.state.bias)
    state, word = first(cell), torch.randn(BATCH, INNER)
    parts = tuple(state.unbind(1))
    expected = theirs(word, parts if kind == "lstm" else parts[0])
    expected = torch.stack(expected if kind == "lstm" else (expected,), dim=1)
    torch.testing.assert_close(cell.step(word, state), expected)


@every_cell
@pytest.mark.parametrize("learning", [True, False])
def test_all_steps_at_once_are_torchs(kind, learning):
    cell = rough_cell(kind)
    inputs, state = torch.randn(BATCH, LENGTH, INNER), first(cell)
    expected, _ = torch_twin(cell, kind)(inputs, theirs_first(state))
    with torch.set_grad_enabled(learning):
        found = cell(inputs, state)
    assert found.requires_grad is learning
    torch.testing.assert_close(found, expected)


@every_cell
def test_gradients_of_the_kernel_are_those_of_the_steps(kind):
    cell = rough_cell(kind)
    inputs, state = torch.randn(BATCH, LENGTH, INNER), first(cell)
    weight = torch.randn(BATCH, LENGTH, DIM)
    (cell(inputs, state) * weight).sum().backward()
    fast = [parameter.grad.clone() for parameter in cell.parameters()]
    cell.zero_grad()
    seen = []
    for position in range(LENGTH):
        state = cell.step(inputs[:, position], state)
        seen.append(state[:, 0])
    (torch.stack(seen, 1) * weight).sum().backward()
    for one, parameter in zip(fast, cell.parameters(), strict=True):
        torch.testing.assert_close(one, parameter.grad, atol=1e-4, rtol=1e-4)


def test_lstm_forgets_little_at_first():
    assert CELLS["lstm"](INNER, DIM).input.bias.view(4, DIM)[1].eq(1).all()


def test_a_row_is_turned_around_within_its_length():
    states = torch.tensor([[1.0, 2, 3, 4], [5, 6, 7, 0]])[..., None]
    allowed = torch.tensor([[1, 1, 1, 1], [1, 1, 1, 0]]) > 0
    assert reversed_rows(states, allowed)[..., 0].tolist() == [[4, 3, 2, 1], [7, 6, 5, 0]]
    assert torch.equal(reversed_rows(reversed_rows(states, allowed), allowed), states)
    assert torch.equal(reversed_rows(states[:1], None), reversed_rows(states[:1], allowed[:1]))


@every_cell
def test_a_reader_of_padded_rows_is_torchs_of_packed_ones(kind):
    forwards, backwards = rough_cell(kind), rough_cell(kind)
    with torch.no_grad():
        backwards.input.weight.mul_(-1)
    theirs = THEIRS[kind](INNER, DIM, batch_first=True, bidirectional=True)
    with torch.no_grad():
        for suffix, cell in (("", forwards), ("_reverse", backwards)):
            getattr(theirs, f"weight_ih_l0{suffix}").copy_(cell.input.weight)
            getattr(theirs, f"weight_hh_l0{suffix}").copy_(cell.state.weight)
            getattr(theirs, f"bias_ih_l0{suffix}").copy_(cell.input.bias)
            getattr(theirs, f"bias_hh_l0{suffix}").copy_(cell.state.bias)
    lengths = torch.tensor([11, 1, 6])
    allowed = torch.arange(LENGTH) < lengths[:, None]
    inputs = torch.randn(BATCH, LENGTH, INNER)
    packed = nn.utils.rnn.pack_padded_sequence(inputs, lengths, True, enforce_sorted=False)
    states, last = theirs(packed)
    expected, _ = nn.utils.rnn.pad_packed_sequence(states, True)
    last = last[0] if kind == "lstm" else last
    reader = RecurrentLayer(forwards, backwards)
    found = reader(inputs, allowed)
    torch.testing.assert_close(found[allowed], expected[allowed])
    torch.testing.assert_close(reader.last(found, allowed), torch.cat(last.unbind(0), -1))


def test_a_stack_reads_what_the_layer_below_shows():
    cells = [rough_cell("lstm"), rough_cell("lstm", DIM)]
    stack = CellStack(cells, Dropout(0.0, Noise()))
    assert stack.shape == (2, 2, DIM)
    inputs, states = torch.randn(BATCH, LENGTH, INNER), torch.randn(BATCH, 2, 2, DIM)
    expected = cells[1](cells[0](inputs, states[:, 0]), states[:, 1])
    torch.testing.assert_close(stack(inputs, states), expected)
    for position in range(LENGTH):
        states = stack.step(inputs[:, position], states)
    torch.testing.assert_close(states[:, -1, 0], expected[:, -1])
