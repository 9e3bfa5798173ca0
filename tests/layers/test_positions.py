"""Places added to words and set beside them, against the formulas."""

import pytest
import torch
import torch.nn.functional as F

from jumok.layers.positions import AddedPositions, ConcatenatedPositions
from jumok.parts import builder_of, names
from jumok.positions.binary import BinaryPositions
from jumok.positions.index import FractionPositions, IndexPositions
from jumok.positions.interfaces import PositionSizes
from jumok.positions.sinusoidal import SinusoidalPositions, sinusoids

VECTORS = [kind for kind in names("positions") if builder_of("positions", kind).enters == "vectors"]
STATES = torch.randn(2, 3, 7)


def test_added_waves_are_a_sum():
    found = AddedPositions(SinusoidalPositions(7, 13))(STATES, 4)
    assert torch.equal(found, STATES + sinusoids(13, 7)[4:7])


def test_a_narrow_encoding_is_added_to_the_first_elements():
    found = AddedPositions(BinaryPositions(8))(STATES, 5) - STATES
    bits = [[1, 0, 1], [0, 1, 1], [1, 1, 1]]  # of 5, 6 and 7
    torch.testing.assert_close(found[..., :3], torch.tensor(bits).float().expand(2, 3, 3))
    assert (found[..., 3:] == 0).all()


def test_concatenated_is_a_product_of_both_side_by_side():
    join = ConcatenatedPositions(IndexPositions(), 7)
    place = torch.tensor([11.0, 12, 13])[:, None].expand(2, 3, 1)
    expected = F.linear(torch.cat((STATES, place), -1), join.join.weight, join.join.bias)
    torch.testing.assert_close(join(STATES, 11), expected)


def test_concatenation_is_a_sum_of_images():
    """[x ; p] W = x W_x + p W_p: why adding usually suffices."""
    join = ConcatenatedPositions(SinusoidalPositions(7, 13), 7)
    word, place = join.join.weight[:, :7], join.join.weight[:, 7:]
    expected = STATES @ word.t() + sinusoids(13, 7)[:3] @ place.t() + join.join.bias
    torch.testing.assert_close(join(STATES, 0), expected)


@pytest.mark.parametrize("join", [AddedPositions, lambda e: ConcatenatedPositions(e, 7)])
def test_fractions_are_of_each_sentence(join):
    places = join(FractionPositions(101))
    together = places(STATES, 0, torch.tensor([3, 2]))
    for row, length in enumerate((3, 2)):
        alone = places(STATES[row : row + 1, :length], 0, torch.tensor([length]))
        torch.testing.assert_close(together[row, :length], alone[0])


@pytest.mark.parametrize("kind", VECTORS)
def test_every_encoding_tells_positions_apart_and_repeats_itself(kind):
    """Lectures 002 and 004: unique and deterministic."""
    encoding = builder_of("positions", kind).of(PositionSizes(8, 2, 4, 41))
    table = encoding(0, 41).reshape(41, -1)
    assert table.shape[1] == encoding.width
    assert table.unique(dim=0).shape[0] == 41
    assert torch.equal(encoding(0, 41).reshape(41, -1), table)
    assert torch.equal(encoding(29, 5).reshape(5, -1), table[29:34])
