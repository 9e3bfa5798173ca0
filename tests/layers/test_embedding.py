"""E[token] * sqrt(dim) + P[position]."""

import math

import pytest
import torch

from jumok.kernels.noise import Noise
from jumok.layers.dropout import Dropout
from jumok.layers.embedding import Embedding, embedding_table, sentence_lengths
from jumok.layers.positions import AddedPositions
from jumok.positions.sinusoidal import SinusoidalPositions, sinusoids

TOKENS = torch.tensor([[5, 0, 3], [1, 5, 5]])


def embedding(word_dropout: float = 0.0, positions: bool = True) -> Embedding:
    noise = Noise()
    table = embedding_table(11, 7)
    where = AddedPositions(SinusoidalPositions(7, 13)) if positions else None
    return Embedding(table, where, Dropout(0.0, noise), noise, word_dropout)


@pytest.mark.parametrize("position", [0, 4])
def test_embedding_is_scaled_and_placed(position):
    ours = embedding()
    found = ours(TOKENS, position)
    table, waves = ours.table.detach(), sinusoids(13, 7)
    for row in range(2):
        for t in range(3):
            expected = table[TOKENS[row, t]] * math.sqrt(7) + waves[position + t]
            torch.testing.assert_close(found[row, t], expected)


def test_embedding_without_positions_knows_no_order():
    ours = embedding(positions=False)
    forwards, backwards = ours(TOKENS), ours(TOKENS.flip(1))
    assert torch.equal(forwards.flip(1), backwards)


def test_word_dropout_zeroes_whole_words_while_training():
    ours = embedding(word_dropout=0.3, positions=False)
    many = torch.arange(13 * 101).remainder(11).view(13, 101)
    kept = (ours.train()(many) != 0).float()
    assert torch.equal(kept.amin(-1), kept.amax(-1))  # a word is there or not
    assert abs(float(kept.mean()) - 0.7) < 0.07  # five standard deviations of 1313 words
    assert (ours.eval()(many) != 0).all()


def test_table_begins_with_vectors_of_length_about_1():
    lengths = embedding_table(101, 256).norm(dim=1)
    assert abs(float(lengths.mean().detach()) - 1) < 0.05


def test_length_of_a_sentence_is_its_real_tokens():
    allowed = torch.tensor([[True, True, True], [True, False, False]])
    assert sentence_lengths(TOKENS, allowed).tolist() == [3, 1]
    assert sentence_lengths(TOKENS, None).tolist() == [3, 3]
