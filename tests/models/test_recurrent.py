"""What is the RNNs' own; what holds for all: test_sequence_to_sequence.py."""

import math

import pytest
import torch
from pydantic import ValidationError

from jumok.config import RecurrentConfig
from jumok.decoding.limits import Limits
from jumok.decoding.torch_stepper import lengths_of
from jumok.models.memory import Memory
from jumok.models.recurrent import RecurrentModel
from jumok.models.recurrent_decoder import (
    BahdanauDecoder,
    FeedingDecoder,
    GNMTDecoder,
    LuongDecoder,
)
from tests.models.sequences import RECURRENT, build
from tests.parity.torch_weights import roughen

SOURCE = torch.tensor([[5, 6, 7, 8, 3], [9, 10, 3, 0, 0]])
ALLOWED = SOURCE != 0
TARGET = torch.tensor([[2, 21, 22], [2, 23, 24]])


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def one_by_one(value: float, *parameters: torch.nn.Parameter) -> None:
    with torch.no_grad():
        for parameter in parameters:
            parameter.fill_(value)


def test_a_step_of_bahdanaus_decoder_by_hand():
    """Everything one number wide: c = look(s), s' = GRU(s, [y, c]), h = tanh(w (s' + c + y))."""
    config = RecurrentConfig(dim=1, embedding=1, bidirectional=False, tied="none", dropout=0.0)
    model = RecurrentModel(config, 4).eval()
    decoder = model.decoder
    assert isinstance(decoder, BahdanauDecoder)
    one_by_one(0.5, *decoder.parameters())
    memory = torch.tensor([[[0.2], [0.8]]])
    with torch.no_grad():
        decoder.embedding.table.copy_(torch.tensor([[0.0], [0.0], [0.3], [0.0]]))
        state = decoder.start(Memory(memory))
        logits, after = decoder.step(torch.tensor([2]), state)

    first = math.tanh(0.5 * 0.5 + 0.5)  # the mean of the Memory is 0.5; weight and bias are 0.5
    assert float(state.seen) == pytest.approx(first)
    query = 0.5 * first + 0.5
    energies = [0.5 * math.tanh(query + 0.5 * value + 0.5) for value in (0.2, 0.8)]
    powers = [math.exp(energy) for energy in energies]
    context = (0.2 * powers[0] + 0.8 * powers[1]) / sum(powers)
    by_input = 0.5 * 0.3 + 0.5 * context + 0.5  # the same for every gate, as all weights are
    by_state = 0.5 * first + 0.5
    gate = sigmoid(by_input + by_state)
    new = math.tanh(by_input + gate * by_state)
    seen = (1 - gate) * new + gate * first
    assert float(after.seen) == pytest.approx(seen, abs=1e-6)
    shown = math.tanh(0.5 * (seen + context + 0.3) + 0.5)
    assert logits[0].tolist() == pytest.approx([0.5 * shown] * 4, abs=1e-6)


@torch.no_grad()
def test_gnmts_order_with_torchs_layers():
    """The lowest GRU, attention with its states, and a GRU that reads both."""
    config = RecurrentConfig(dim=14, embedding=13, order="gnmt", decoder_layers=2)
    torch.manual_seed(1)
    model = roughen(RecurrentModel(config, 31)).eval()
    decoder = model.decoder
    assert isinstance(decoder, GNMTDecoder)
    memory = model.encode(SOURCE, ALLOWED)
    state = decoder.start(memory)
    layers = [torch.nn.GRU(width, 14, batch_first=True) for width in (13, 14 + 14)]
    for layer, cell in zip(layers, decoder.cells, strict=True):
        for theirs, ours in zip(layer.parameters(), cell.weights(), strict=True):
            theirs.copy_(ours)
    first, second = (each.contiguous()[None] for each in state.cells[:, :, 0].unbind(1))
    below, _ = layers[0](decoder.embedding(TARGET), first)
    found, _ = decoder.attention(below, state.keys, memory.states, memory.allowed)
    above, _ = layers[1](torch.cat([below, found], dim=-1), second)
    joined, readout = torch.cat([above, found], dim=-1), decoder.readout
    shown = torch.tanh(joined @ readout.weight.T + readout.bias)
    torch.testing.assert_close(decoder.hidden(memory, TARGET), shown, atol=1e-5, rtol=0)


@torch.no_grad()
@pytest.mark.parametrize("variant", RECURRENT)
def test_all_positions_at_once_are_the_positions_one_by_one(variant):
    model = build(f"rnn {variant}")
    memory = model.encode(SOURCE, ALLOWED)
    slow = model.decoder.one_by_one(memory, TARGET)
    torch.testing.assert_close(model.decoder.hidden(memory, TARGET), slow, atol=1e-5, rtol=0)


@torch.no_grad()
def test_without_attention_the_memory_is_one_vector_that_knows_its_sources_length():
    memory = build("rnn first state").encode(SOURCE, ALLOWED)
    assert memory.states.shape == (2, 1, 14)
    assert memory.lengths.tolist() == [5, 3]
    assert memory.select(torch.tensor([1, 1])).lengths.tolist() == [3, 3]
    limits = Limits(maximum_ratio=2.0, maximum_extra=1)
    assert [limits.longest_of(length) for length in lengths_of(memory)] == [11, 7]
    assert build("rnn first state").encode(SOURCE).lengths.tolist() == [5, 5]


@torch.no_grad()
def test_input_feeding_tells_the_next_step_what_was_found():
    fed, plain = build("rnn input feeding"), build("rnn luong bilinear")
    assert isinstance(fed.decoder, FeedingDecoder)
    assert isinstance(plain.decoder, LuongDecoder)
    for model, told in ((fed, True), (plain, False)):
        memory = model.encode(SOURCE, ALLOWED)
        state = model.decoder.start(memory)
        _, state = model.decoder.step(TARGET[:, 0], state)
        assert (state.shown is not None) is told


@torch.no_grad()
def test_coverage_counts_what_was_looked_at():
    model = build("rnn luong coverage")
    state = model.decoder.start(model.encode(SOURCE, ALLOWED))
    for t in range(3):
        _, state = model.decoder.step(TARGET[:, t], state)
        assert state.covered.sum(1).tolist() == pytest.approx([t + 1, t + 1])
    assert state.covered[1, 3:].tolist() == [0, 0]


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        ({"dim": 7}, "dim = 7 cannot be shared by two directions"),
        ({"attention": "none", "coverage": True}, "need an attention other than none"),
        ({"input_feeding": True}, 'input_feeding belongs to order = "luong"'),
        ({"order": "gnmt"}, "layers above the one with attention: set decoder_layers = 2"),
        ({"attention": "dot", "coverage": True}, 'coverage is a part of attention = "additive"'),
        ({"attention": "none", "first_state": "last"}, 'first_state = "last" needs an attention'),
    ],
)
def test_keys_that_contradict_each_other_are_refused(keys, text):
    with pytest.raises(ValidationError, match=text):
        RecurrentConfig.model_validate(keys)


def test_number_of_weights_by_hand():
    """GRU, two directions of 7, decoder of 14, words of 13, 31 of them, additive score."""
    reader = 2 * 3 * (7 * 13 + 7 * 7 + 2 * 7)
    score = 14 * 14 + 14 + 14 * 14 + 14 + 14
    cell = 3 * (14 * (13 + 14) + 14 * 14 + 2 * 14)
    first, readout = 14 * 14 + 14, (14 + 14 + 13) * 13 + 13
    model = build("rnn gru additive bahdanau")
    count = sum(parameter.numel() for parameter in model.parameters())
    assert count == 31 * 13 + reader + score + cell + first + readout
