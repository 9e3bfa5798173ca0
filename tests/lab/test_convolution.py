"""The pictures of the lab, and what is read off its attention."""

import numpy as np
import pytest
import torch

from jumok.attention.convolution import PixelAttention
from jumok.lab import convolution
from jumok.lab.convolution import CELLS, SIDE, cells_of, draw, frame_weight, train


def test_square_and_frame_have_one_colour_where_the_answer_says_so() -> None:
    drawn = draw(60, 1)
    for pixels, partners, corners in zip(
        drawn.store.pixels, drawn.store.numbers, drawn.corners, strict=True
    ):
        square, frame = (tuple(pixels[row, column].tolist()) for row, column in corners)
        assert (square == frame) == bool(partners)
        row, column = corners[0]
        inside = pixels[row : row + SIDE, column : column + SIDE].reshape(-1, 3)
        assert len(np.unique(inside, axis=0)) == 1
    assert 15 < drawn.store.numbers.sum() < 45


def test_a_thing_lies_on_four_cells() -> None:
    assert CELLS == 15
    assert cells_of(np.array([6, 12])) == [51, 52, 66, 67]  # cells (3, 6), (3, 7), (4, 6) ...


def test_even_weights_give_the_frame_its_share_of_the_cells() -> None:
    drawn = draw(40, 1)
    model = train("attention", drawn, drawn, 20, seed=1).model
    (attention,) = [part for part in model.modules() if isinstance(part, PixelAttention)]
    torch.nn.init.zeros_(attention.query.weight)
    torch.nn.init.zeros_(attention.query.bias)
    assert frame_weight(model, drawn, 1) == pytest.approx(4 / 15**2)


def test_attention_and_its_stand_in_have_as_many_parameters() -> None:
    drawn = draw(40, 1)
    sizes = {
        name: sum(p.numel() for p in train(name, drawn, drawn, 20, 1).model.parameters())
        for name in convolution.NAMES
    }
    assert sizes["attention"] == sizes["mixing"] > sizes["neither"]
