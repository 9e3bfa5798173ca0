"""Bits, by hand."""

import pytest
import torch

from jumok.config import TransformerConfig
from jumok.errors import ModelError
from jumok.positions.binary import BinaryPositions


def test_bits_are_those_of_the_number_fastest_first():
    expected = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 1], [1, 0, 1]]
    assert BinaryPositions(6)(0, 6).tolist() == expected
    assert BinaryPositions(6)(4, 2).tolist() == expected[4:]


@pytest.mark.parametrize(("length", "width"), [(1, 1), (2, 1), (3, 2), (4, 2), (5, 3), (1024, 10)])
def test_width_is_the_number_of_bits_that_tell_positions_apart(length, width):
    positions = BinaryPositions(length)
    assert positions.width == width
    assert positions(0, length).unique(dim=0).shape[0] == length
    config = TransformerConfig(positions="binary", max_length=length)
    assert config.reach == 2**width


def test_sentence_beyond_the_bits_is_refused_in_words():
    with pytest.raises(ModelError) as error:
        BinaryPositions(6)(7, 2)
    assert str(error.value) == (
        "the sentence is longer than the number of binary positions.\n"
        "  expected: at most 8 positions (model.max_length)\n"
        "  got:      9\n"
        "  do:       shorten it, or train with a larger model.max_length or another encoding"
    )


def test_neighbours_may_lie_further_apart_than_strangers():
    """What waves mend: 7 and 8 differ in four bits, 0 and 8 in one."""
    bits = BinaryPositions(16)(0, 16)
    assert (bits[7] - bits[8]).abs().sum() == 4
    assert (bits[0] - bits[8]).abs().sum() == 1
    assert torch.equal(bits, bits.round())
