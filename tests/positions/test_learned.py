import pytest
import torch

from jumok.errors import ModelError
from jumok.positions.learned import LearnedPositions


def test_positions_are_rows_of_the_table():
    positions = LearnedPositions(7, length=5)
    assert torch.equal(positions(1, 3), positions.table[1:4])
    assert torch.equal(positions(0, 5), positions.table)


@pytest.mark.parametrize(("position", "length"), [(0, 6), (5, 1), (2, 4)])
def test_sentence_beyond_the_table_is_refused_in_words(position, length):
    with pytest.raises(ModelError) as error:
        LearnedPositions(7, length=5)(position, length)
    assert str(error.value) == (
        "the sentence is longer than the number of learned positions.\n"
        "  expected: at most 5 positions (model.max_length)\n"
        "  got:      6\n"
        "  do:       shorten it, or train with a larger model.max_length or another encoding"
    )
