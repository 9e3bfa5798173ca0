"""From weights between pieces to links between words."""

from pathlib import Path

import pytest
import torch
from rich.cells import cell_len

from jumok.alignment.extract import cross_attention
from jumok.alignment.setting import AlignmentSetting, default_setting
from jumok.alignment.words import links, merge_words, merge_words_without_torch, pharaoh
from jumok.attention.observe import Observable, observe
from jumok.bundle.reading import read_bundle
from jumok.bundle.weights import load_model
from jumok.cli.screen import heatmap


def test_words_sum_what_they_get_and_average_what_they_give() -> None:
    weights = torch.tensor(
        [
            [0.5, 0.25, 0.25],  # target piece 0, word 0
            [0.1, 0.2, 0.7],  # target piece 1, word 1
            [0.3, 0.4, 0.3],  # target piece 2, word 1
        ]
    )
    merged = merge_words(weights, source_words=[0, 0, 1], target_words=[0, 1, 1])
    torch.testing.assert_close(merged, torch.tensor([[0.75, 0.25], [0.5, 0.5]]))


@pytest.mark.parametrize(
    ("source", "target"), [([0, 0, 1, 2, 2], [0, 1, 1, 1, 2, 3]), ([0], [0, 0])], ids=str
)
def test_words_are_merged_without_torch_as_with_it(source, target) -> None:
    weights = torch.rand(len(target), len(source), generator=torch.Generator().manual_seed(3))
    expected = merge_words(weights, source, target)
    found = merge_words_without_torch(weights.numpy(), source, target)
    torch.testing.assert_close(torch.from_numpy(found), expected)
    assert links(found) == links(expected)


def test_every_target_word_is_linked_once_in_the_order_of_the_source() -> None:
    weights = torch.tensor([[0.1, 0.2, 0.7], [0.6, 0.3, 0.1]])
    assert links(weights) == [(0, 1), (2, 0)]
    assert pharaoh(links(weights)) == "0-1 2-0"


def test_no_links_are_an_empty_line() -> None:
    assert pharaoh([]) == ""


@pytest.mark.parametrize(("layers", "layer"), [(1, 0), (2, 0), (3, 1), (6, 4)])
def test_unmeasured_model_is_read_in_its_last_layer_but_one(layers: int, layer: int) -> None:
    assert default_setting(layers) == AlignmentSetting(layer, at_input=False)


def test_cross_attention_rows_sum_to_one_and_ignore_padding(tiny_bundle: Path) -> None:
    model = load_model(read_bundle(tiny_bundle))
    source = torch.tensor([[5, 6, 7, 8, 3], [5, 6, 3, 0, 0]])
    memory = model.encode(source, source != 0)
    tokens = torch.tensor([[2, 11, 12], [2, 13, 14]])
    weights = cross_attention(model, memory, tokens, AlignmentSetting(1, at_input=False))
    assert weights.shape == (2, 2, 5)
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 2))
    assert bool((weights[1, :, 3:] == 0).all())


@pytest.mark.parametrize("layer", [0, 1, 2])
def test_piece_is_written_one_step_before_it_is_read(tiny_bundle: Path, layer: int) -> None:
    # The decoder reads START a b and writes a b END: three rows of weights, two for the pieces.
    model = load_model(read_bundle(tiny_bundle))
    memory = model.encode(torch.tensor([[5, 6, 7, 3]]))
    tokens = torch.tensor([[2, 11, 12]])
    seen: dict[str, torch.Tensor] = {}
    with observe(model, lambda site, attention: seen.update({site: attention.weights.mean(1)})):
        model.decoder.forward(memory, tokens)
    rows = seen[f"decoder.blocks.{layer}.cross_attention"]
    written, read = (
        cross_attention(model, memory, tokens, AlignmentSetting(layer, step))
        for step in (False, True)
    )
    torch.testing.assert_close(written, rows[:, :2])
    torch.testing.assert_close(read, rows[:, 1:])
    assert not any(m.observers for m in model.modules() if isinstance(m, Observable))


def test_heatmap_keeps_columns_under_wide_words() -> None:
    weights = torch.tensor([[1.0, 0.0], [0.1, 0.5]])
    # Each Hangul syllable takes two columns: 나는 is four wide, as its shade is.
    assert heatmap(weights, ["나는", "go"], ["I", "학생"]).splitlines() == [
        "     나는 go",
        "I    ████",
        "학생      ▒▒",
    ]


def test_heatmap_shade_is_the_weight_itself() -> None:
    weights = torch.tensor([[0.12, 0.13, 0.38, 0.63, 0.88]])
    assert heatmap(weights, list("abcde"), ["x"]).splitlines()[1] == "x   ░ ▒ ▓ █"


def test_heatmap_wider_than_the_terminal_goes_on_in_panels() -> None:
    drawn = heatmap(torch.eye(3), ["aaaa", "bbbb", "cccc"], ["x", "y", "z"], width=11)
    first, second = drawn.split("\n\n")
    assert first.splitlines()[0] == "  aaaa bbbb"
    assert second.splitlines() == ["  cccc", "x", "y", "z ████"]


def test_heatmap_of_words_without_width_or_too_wide_stays_a_table() -> None:
    drawn = heatmap(torch.ones(1, 2), ["\u200b", "w" * 100], ["t"])
    assert max(map(cell_len, drawn.splitlines())) == 1 + 2 + 1 + 24
