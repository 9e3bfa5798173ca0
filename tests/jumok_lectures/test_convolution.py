"""The pictures of the lab, and what is read off its attention."""

import numpy as np
import pytest
import torch

from jumok.attention.convolution import PixelAttention
from jumok_lectures.experiments import convolution
from jumok_lectures.experiments.convolution import (
    CELLS,
    COLOURS,
    CellNorm,
    Corner,
    Run,
    cells_of,
    draw,
    looks,
    train,
)
from jumok_lectures.findings import Findings


def test_the_answer_is_the_core_of_the_frame_in_the_asking_frames_colour() -> None:
    drawn = draw(60, 1)
    colours = {}
    for pixels, answer, corners in zip(
        drawn.store.pixels, drawn.store.numbers, drawn.corners, strict=True
    ):
        frames = [tuple(pixels[row, column].tolist()) for row, column in corners]
        cores = [tuple(pixels[row + 1, column + 1].tolist()) for row, column in corners]
        assert cores[0] == (0, 0, 0)
        assert frames[0] == frames[1]
        assert len(set(frames[1:])) == len(frames) - 1
        assert colours.setdefault(int(answer), cores[1]) == cores[1]
    assert len(set(colours.values())) == COLOURS


def test_a_thing_lies_on_four_cells() -> None:
    assert CELLS == 12
    assert cells_of(np.array([6, 12])) == [42, 43, 54, 55]  # cells (3, 6), (3, 7), (4, 6) ...


def test_even_weights_give_each_frame_its_share_of_the_cells() -> None:
    drawn = draw(40, 1)
    model = train("attention", drawn, drawn, 20, seed=1).model
    (attention,) = [part for part in model.modules() if isinstance(part, PixelAttention)]
    torch.nn.init.zeros_(attention.query.weight)
    torch.nn.init.zeros_(attention.query.bias)
    assert looks(model, drawn) == pytest.approx((4 / 12**2, 12 / 12**2))


def test_attention_and_its_stand_in_have_as_many_parameters() -> None:
    drawn = draw(40, 1)
    sizes = {
        name: sum(p.numel() for p in train(name, drawn, drawn, 20, 1).model.parameters())
        for name in convolution.NAMES
    }
    assert sizes["tower"] > sizes["attention"] == sizes["mixing"] > sizes["neither"]


def test_the_towers_field_is_the_whole_picture() -> None:
    """A change in one corner reaches the opposite one."""
    torch.manual_seed(1)
    tower = convolution.Tower(4)
    torch.nn.init.ones_(tower.residual_gate)
    picture = torch.rand(1, 4, CELLS, CELLS, requires_grad=True)
    tower(picture)[0, :, -1, -1].sum().backward()
    assert picture.grad is not None
    assert float(picture.grad[0, :, 0, 0].abs().sum()) > 0.0


@pytest.mark.parametrize(
    ("name", "far"), [("neither", False), ("mixing", False), ("tower", True), ("attention", True)]
)
def test_only_attention_and_the_tower_bring_the_corner_what_is_far(name, far) -> None:
    """What the answer depends on: changes in the opposite corner of the image."""
    drawn = draw(40, 1)
    model = train(name, drawn, drawn, 20, 1).model
    assert sum(isinstance(part, CellNorm) for part in model.modules()) == 3
    assert isinstance(model.stack.stages[0][-1], Corner)
    pixels = torch.tensor(drawn.store.pixels[:1]).movedim(-1, 1)
    changed = pixels.clone()
    changed[..., -4:, -4:] = 255 - changed[..., -4:, -4:]
    with torch.no_grad():
        moved = (model(changed) - model(pixels)).abs().max()
    assert (float(moved) > 0.0) == far


def test_the_report_judges_every_stand_in() -> None:
    model = train("neither", draw(40, 1), draw(40, 1), 20, 1).model

    def report(tower: float, digits: dict[str, list[float]]) -> Findings:
        right = {"attention": 70.0, "mixing": 20.0, "tower": tower, "neither": 20.0}
        runs = {
            name: [(Run(model, value + seed, [(20.0, 1.0)]), (0.6, 0.2)) for seed in (0, 1)]
            for name, value in right.items()
        }
        return convolution.report(runs, digits)

    assert report(30.0, {}).outcome == "holds"
    assert "JUMOK_DATA" in report(30.0, {}).sentence.en
    assert report(72.0, {}).outcome == "partly"
    same = {"attention": [95.0, 95.5], "mixing": [95.0, 95.5]}
    assert [each.state for each in report(30.0, same).conditions] == ["met", "met", "unmet"]
