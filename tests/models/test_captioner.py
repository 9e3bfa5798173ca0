"""Captioners of every kind: steps against forward, what the Memory holds, what may be looked at."""

import pytest
import torch
import torch.nn.functional as F

from jumok.models.captioner import CaptionerModel
from tests.models import sequences
from tests.models.sequences import CAPTIONERS, CNN, assert_close

every_variant = pytest.mark.parametrize("variant", CAPTIONERS)


def build(variant: str) -> CaptionerModel:
    return sequences.build(f"captioner {variant}")


def pictures(variant: str, count: int = 3) -> torch.Tensor:
    return sequences.sources(f"captioner {variant}")[0][:count]


@every_variant
def test_the_memory_has_a_state_for_every_cell_of_the_grid(variant):
    model = build(variant)
    rows, columns = model.grid
    assert model.encode(pictures(variant)).states.shape == (3, rows * columns, 12)
    of_encoder = (4, 4) if CAPTIONERS[variant]["encoder"] is CNN else (3, 5)
    assert model.grid == ((1, 1) if "one" in variant else of_encoder)
    assert bool(model.cross_sites) == ("one" not in variant)


def test_cells_know_of_others_only_where_they_look_at_one_another():
    """Of features: convolutions would see their neighbours."""
    cells, other = pictures("features", 1), pictures("features", 1)
    other[0, 14] += 1.0
    for variant, moved in (("features", 1), ("rnn over cells that look", 15)):
        model = build(variant)
        change = model.encode(other).states - model.encode(cells).states
        assert int((change.abs().amax(dim=2) > 1e-4).sum()) == moved


def test_cells_stand_row_by_row():
    """A picture black but for one corner: only the cells near it differ from those of black."""
    model = build("pixels")
    black = torch.zeros(1, 3, 8, 8, dtype=torch.uint8)
    marked = black.clone()
    marked[..., :2, 7] = 255
    # Group norms tell every cell of it, so the convolutions' stem is looked at alone.
    stem = model.cells.convolutions.stem
    changed = (stem(marked / 127.5 - 1) - stem(black / 127.5 - 1)).abs().sum(1) > 0
    flat = model.cells(marked, torch.zeros(1))
    grid = model.cells.convolutions(marked / 127.5 - 1)
    assert torch.equal(flat[0, 1], grid[0, :, 0, 1])
    assert torch.equal(flat[0, 4], grid[0, :, 1, 0])
    assert changed[0].nonzero().tolist() == [
        *([row, column] for row in range(3) for column in (6, 7))
    ]


def test_one_vector_is_an_mlp_over_all_cells():
    model = build("one vector of features")
    features = pictures("one vector of features")
    named = dict(model.writer.named_parameters())
    squeezed = F.relu(features @ named["squeeze.weight"].T + named["squeeze.bias"])
    beside = squeezed.reshape(3, 15 * 3)
    inner = F.relu(beside @ named["inner.weight"].T + named["inner.bias"])
    outer = inner @ named["outer.weight"].T + named["outer.bias"]
    expected = F.layer_norm(outer, (12,), *model.reader.first_norm.parameters())
    assert_close(model.encode(features).states[:, 0], expected)


def test_bytes_are_computed_with_in_the_weights_number_format():
    model = build("pixels").to(torch.bfloat16)
    assert model.encode(pictures("pixels")).states.dtype == torch.bfloat16


def test_the_gate_scales_what_is_found_by_what_the_state_says():
    model = build("rnn")
    memory = model.encode(pictures("rnn"))
    state = model.decoder.start(memory)
    found, _ = model.decoder.attention(
        state.seen[:, None], state.keys, memory.states, memory.allowed, None
    )
    gate = model.decoder.gate
    beta = 1 / (1 + torch.exp(-(state.seen @ gate.weight[0] + gate.bias[0])))
    looked, _ = model.decoder.attend(state.seen, state)
    assert_close(looked, beta[:, None] * found[:, 0])
    assert bool(((beta > 0) & (beta < 1)).all())
