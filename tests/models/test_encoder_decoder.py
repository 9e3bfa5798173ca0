"""Steps against forward, padding against none, and what may be looked at, for every variant."""

import pytest
import torch

from jumok.models.encoder_decoder import Transformer
from jumok.models.memory import Decoder, Memory
from tests.models.variants import VARIANTS, VOCABULARY, build

SOURCE = torch.tensor(
    [[5, 6, 7, 8, 9, 10, 3], [11, 12, 13, 3, 0, 0, 0], [14, 15, 16, 17, 18, 3, 0]]
)
ALLOWED = torch.arange(7) < torch.tensor([[7], [4], [6]])
TARGET = torch.tensor([[2, 21, 22, 23, 24], [2, 25, 26, 27, 28], [2, 29, 30, 19, 20]])

every_variant = pytest.mark.parametrize("variant", VARIANTS)
pytestmark = pytest.mark.usefixtures("inference")


@pytest.fixture
def inference():
    with torch.inference_mode():
        yield


def assert_close(found: torch.Tensor, expected: torch.Tensor) -> None:
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=0)


@every_variant
@pytest.mark.parametrize("padded", [False, True])
def test_steps_give_the_logits_of_forward(variant, padded):
    model = build(variant)
    memory = model.encode(SOURCE, ALLOWED if padded else None)
    expected = model.decoder(memory, TARGET)
    state = model.decoder.start(memory)
    for t in range(5):
        logits, state = model.decoder.step(TARGET[:, t], state)
        assert_close(logits, expected[:, t])


@every_variant
def test_reordered_steps_are_those_of_the_reordered_sentences(variant):
    """Rows repeat, change places and leave, as in a beam; a twin recomputes all from the start."""
    model = build(variant)
    memory = model.encode(SOURCE, ALLOWED)
    state = model.decoder.start(memory)
    written, kept = TARGET[:, :0], memory
    moves = [[0, 1, 2], [2, 0, 0, 1, 2], [1, 0, 2, 3, 4], [4, 3, 3, 1], [2]]
    for t, move in enumerate(moves):
        rows = torch.tensor(move)
        state = model.decoder.reorder(state, rows)
        following = torch.arange(len(move)) * 7 % 23 + 4 + t  # a word of its own for every row
        written, kept = torch.cat([written[rows], following[:, None]], 1), kept.select(rows)
        logits, state = model.decoder.step(written[:, -1], state)
        assert_close(logits, model.decoder(kept, written)[:, -1])


@every_variant
def test_padding_changes_nothing_for_the_sentence(variant):
    model = build(variant)
    together = model.decoder(model.encode(SOURCE, ALLOWED), TARGET)
    for row, length in enumerate((7, 4, 6)):
        memory = model.encode(SOURCE[row : row + 1, :length])
        assert_close(model.decoder(memory, TARGET[row : row + 1])[0], together[row])


@every_variant
def test_logits_do_not_see_the_future(variant):
    model = build(variant)
    memory = model.encode(SOURCE, ALLOWED)
    changed = TARGET.clone()
    changed[:, 3:] = 4
    before, after = model.decoder(memory, TARGET), model.decoder(memory, changed)
    assert_close(after[:, :3], before[:, :3])
    assert not torch.allclose(after[:, 3], before[:, 3], atol=1e-3)


@pytest.mark.parametrize(
    ("variant", "ordered"),
    [
        ("no positions", False),
        *((name, True) for name in ("plain", "rotary", "alibi", "index", "fraction", "binary")),
    ],
)
def test_encoder_is_a_set_encoder_without_positions(variant, ordered):
    """Lecture 002: self-attention alone encodes a set."""
    model = build(variant)
    forwards = model.encode(SOURCE).states
    backwards = model.encode(SOURCE.flip(1)).states.flip(1)
    assert torch.allclose(forwards, backwards, atol=1e-5) is not ordered


@pytest.mark.parametrize(("tied", "tables"), [("all", 1), ("target", 2), ("none", 3)])
def test_tied_tables_are_one_parameter(tied, tables):
    model = build("plain", tied=tied)
    found = [p for p in model.parameters() if p.shape == (VOCABULARY, 15)]
    assert len(found) == tables
    assert (model.encoder.embedding.table is model.decoder.embedding.table) == (tied == "all")
    assert (model.decoder.output.weight is model.decoder.embedding.table) == (tied != "none")


def test_number_of_weights_by_hand():
    """dim 15, 3 heads of 5, 1 + 2 layers, feed-forward 29, 31 words, one table."""
    attention = 4 * (15 * 15 + 15)
    feedforward = 15 * 29 + 29 + 29 * 15 + 15
    norm = 2 * 15
    encoder = norm + (attention + norm + feedforward + norm)
    decoder = norm + 2 * (2 * (attention + norm) + feedforward + norm)
    model = build("plain")
    assert sum(p.numel() for p in model.parameters()) == 31 * 15 + encoder + decoder


def test_transformer_decoder_is_a_decoder():
    decoder = build("plain").decoder
    assert isinstance(decoder, Decoder)
    assert decoder.vocabulary_size == VOCABULARY


def test_dropout_shows_in_training_and_repeats_with_its_key():
    model = build("plain").train()

    def run(*key: int) -> torch.Tensor:
        model.noise.rekey(*key)
        return model.decoder(model.encode(SOURCE, ALLOWED), TARGET)

    assert torch.equal(run(1, 2), run(1, 2))
    assert not torch.allclose(run(1, 2), run(1, 3))


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
