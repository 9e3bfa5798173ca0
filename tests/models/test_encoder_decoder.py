"""What is the Transformer's own; what holds for all: test_sequence_to_sequence.py."""

import pytest
import torch

from jumok.models.encoder_decoder import Transformer
from jumok.models.memory import Memory
from tests.models.sequences import SOURCE, TARGET, assert_close
from tests.models.variants import VARIANTS, VOCABULARY, build

pytestmark = pytest.mark.usefixtures("inference")


@pytest.mark.parametrize(
    ("variant", "ordered"),
    [
        ("no positions", False),
        *(
            (name, True)
            for name in ("plain", "rotary", "alibi", "relative", "index", "fraction", "binary")
        ),
    ],
)
def test_encoder_is_a_set_encoder_without_positions(variant, ordered):
    """Lecture 002: self-attention alone encodes a set."""
    model = build(variant)
    forwards = model.encode(SOURCE).states
    backwards = model.encode(SOURCE.flip(1)).states.flip(1)
    assert torch.allclose(forwards, backwards, atol=1e-5) is not ordered


@pytest.mark.parametrize(
    ("tied", "tables"), [("all", 1), ("target", 2), ("inputs", 2), ("none", 3)]
)
def test_tied_tables_are_one_parameter(tied, tables):
    model = build("plain", tied=tied)
    found = [p for p in model.parameters() if p.shape == (VOCABULARY, 15)]
    assert len(found) == tables
    assert (model.encoder.embedding.table is model.decoder.embedding.table) == (
        tied in ("all", "inputs")
    )
    assert (model.decoder.output.weight is model.decoder.embedding.table) == (
        tied in ("all", "target")
    )


def test_number_of_weights_by_hand():
    """dim 15, 3 heads of 5, 1 + 2 layers, feed-forward 29, 31 words, one table."""
    attention = 4 * (15 * 15 + 15)
    feedforward = 15 * 29 + 29 + 29 * 15 + 15
    norm = 2 * 15
    encoder = norm + (attention + norm + feedforward + norm)
    decoder = norm + 2 * (2 * (attention + norm) + feedforward + norm)
    model = build("plain")
    assert sum(p.numel() for p in model.parameters()) == 31 * 15 + encoder + decoder


def test_memory_of_one_vector_is_read_by_every_query():
    """A fixed context vector is a Memory of length one."""
    model = build("plain")
    memory = Memory(torch.randn(3, 1, 15))
    state = model.decoder.start(memory)
    expected = model.decoder(memory, TARGET)
    for t in range(5):
        logits, state = model.decoder.step(TARGET[:, t], state)
        assert_close(logits, expected[:, t])


def test_every_variant_is_built_by_the_catalog():
    assert all(isinstance(build(variant), Transformer) for variant in VARIANTS)


def test_select_repeats_drops_and_moves_rows():
    memory = Memory(
        torch.arange(2.0 * 3 * 5).view(2, 3, 5), torch.tensor([[1, 1, 1], [1, 0, 0]]) > 0
    )
    rows = torch.tensor([1, 0, 1])
    selected = memory.select(rows)
    assert torch.equal(selected.states, memory.states[rows])
    assert selected.allowed.sum(1).tolist() == [1, 3, 1]
    assert Memory(memory.states).select(rows).allowed is None
