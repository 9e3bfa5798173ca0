"""From weights between pieces to links between words."""

from pathlib import Path

import pytest
import torch
from rich.cells import cell_len

from jumok.attention.observe import Observable
from jumok.bundle.reading import read_bundle
from jumok.bundle.weights import load_model
from jumok.inspection.alignment import (
    alignment_layer,
    cross_attention,
    heatmap,
    links,
    merge_words,
    pharaoh,
)


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


def test_every_target_word_is_linked_once_in_the_order_of_the_source() -> None:
    weights = torch.tensor([[0.1, 0.2, 0.7], [0.6, 0.3, 0.1]])
    assert links(weights) == [(0, 1), (2, 0)]
    assert pharaoh(links(weights)) == "0-1 2-0"


def test_no_links_are_an_empty_line() -> None:
    assert pharaoh([]) == ""


@pytest.mark.parametrize(("layers", "layer"), [(1, 0), (2, 0), (3, 0), (4, 0), (6, 1), (12, 3)])
def test_layer_that_aligns_is_the_end_of_the_first_third(layers: int, layer: int) -> None:
    assert alignment_layer(layers) == layer


def test_cross_attention_rows_sum_to_one_and_ignore_padding(tiny_bundle: Path) -> None:
    model = load_model(read_bundle(tiny_bundle))
    source = torch.tensor([[5, 6, 7, 8, 3], [5, 6, 3, 0, 0]])
    memory = model.encode(source, source != 0)
    weights = cross_attention(model, memory, torch.tensor([[2, 11, 12], [2, 13, 14]]))
    assert weights.shape == (2, 3, 5)
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 3))
    assert bool((weights[1, :, 3:] == 0).all())


def test_cross_attention_is_the_mean_over_the_heads_of_the_asked_layer(tiny_bundle: Path) -> None:
    model = load_model(read_bundle(tiny_bundle))
    memory = model.encode(torch.tensor([[5, 6, 7, 3]]))
    tokens = torch.tensor([[2, 11, 12]])
    layers = [cross_attention(model, memory, tokens, layer) for layer in range(3)]
    torch.testing.assert_close(cross_attention(model, memory, tokens), layers[0])
    assert not torch.allclose(layers[0], layers[2], atol=1e-4)
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
