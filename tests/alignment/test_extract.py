"""From the weights of attention to links between words."""

import math
from collections import Counter
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import torch
from rich.cells import cell_len

from jumok.alignment import extract
from jumok.alignment.extract import (
    attention_at_setting,
    choose_setting,
    every_setting,
    mutual_information,
    word_links,
)
from jumok.alignment.setting import AlignmentSetting, default_setting
from jumok.alignment.words import links, merge_words, pharaoh
from jumok.attention.observe import Observable, observe
from jumok.bundle.reading import read_bundle
from jumok.bundle.weights import load_model
from jumok.cli.screen import heatmap
from jumok.errors import ModelError
from jumok.models.memory import SequenceToSequence
from jumok.systems.translation.pairs import links_of


@pytest.fixture
def model(tiny_bundle: Path) -> SequenceToSequence:
    return load_model(read_bundle(tiny_bundle))


def test_words_sum_what_they_get_and_average_what_they_give() -> None:
    weights = np.array(
        [
            [0.5, 0.25, 0.25],  # target piece 0, word 0
            [0.1, 0.2, 0.7],  # target piece 1, word 1
            [0.3, 0.4, 0.3],  # target piece 2, word 1
        ],
        np.float32,
    )
    merged = merge_words(weights, source_words=[0, 0, 1], target_words=[0, 1, 1])
    np.testing.assert_allclose(merged, [[0.75, 0.25], [0.5, 0.5]], rtol=1e-6)
    np.testing.assert_allclose(merge_words(weights[:2, :1], [0], [0, 0]), [[0.3]], rtol=1e-6)


def test_every_target_word_is_linked_once_in_the_order_of_the_source() -> None:
    weights = np.array([[0.1, 0.2, 0.7], [0.6, 0.3, 0.1]], np.float32)
    assert links(weights) == [(0, 1), (2, 0)]
    assert pharaoh(links(weights)) == "0-1 2-0"


def test_no_links_are_an_empty_line() -> None:
    assert pharaoh([]) == ""


@pytest.mark.parametrize(("layers", "layer"), [(1, 0), (2, 0), (3, 1), (6, 4)])
def test_unmeasured_model_is_read_in_its_last_layer_but_one(layers: int, layer: int) -> None:
    assert default_setting(layers) == AlignmentSetting(layer, at_input=False)


def test_cross_attention_rows_sum_to_one_and_ignore_padding(model: SequenceToSequence) -> None:
    source = torch.tensor([[5, 6, 7, 8, 3], [5, 6, 3, 0, 0]])
    memory = model.encode(source, source != 0)
    tokens = torch.tensor([[2, 11, 12], [2, 13, 14]])
    weights = attention_at_setting(model, memory, tokens, AlignmentSetting(1, at_input=False))
    assert weights.shape == (2, 2, 5)
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 2))
    assert bool((weights[1, :, 3:] == 0).all())


@pytest.mark.parametrize("layer", [0, 1, 2])
def test_piece_is_written_one_step_before_it_is_read(model: SequenceToSequence, layer: int) -> None:
    # The decoder reads START a b and writes a b END: three rows of weights, two for the pieces.
    memory = model.encode(torch.tensor([[5, 6, 7, 3]]))
    tokens = torch.tensor([[2, 11, 12]])
    seen: dict[str, torch.Tensor] = {}
    with observe(model, lambda site, attention: seen.update({site: attention.weights.mean(1)})):
        model.decoder.forward(memory, tokens)
    rows = seen[f"decoder.blocks.{layer}.cross_attention"]
    written, read = (
        attention_at_setting(model, memory, tokens, AlignmentSetting(layer, step))
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


SOURCE_WORDS, TARGET_WORDS = [[0, 0, 1, 2], [0, 1]], [[0, 1, 1], [0]]


def test_each_word_is_linked_to_the_word_whose_pieces_got_most() -> None:
    # 0.3 + 0.3 beats 0.4: the first word has two pieces. The last column is END, and no word.
    first = torch.tensor([[0.3, 0.3, 0.4, 0.0, 0.0], [0.1, 0.0, 0.2, 0.7, 0.0]])
    second = torch.tensor([[0.0, 0.1, 0.0, 0.0, 0.9], [0.0, 0.0, 0.0, 0.0, 0.0]])
    maps = torch.stack([first, second])[:, None]
    found = word_links(maps, [[0, 0, 1, 2], [0, 1]], [[0, 1], [0]])
    assert found.tolist() == [[[0, 2]], [[1, -1]]]


def test_links_of_many_are_those_of_one_after_another() -> None:
    torch.manual_seed(11)
    maps = torch.rand(2, 5, 3, 7)
    found = word_links(maps, SOURCE_WORDS, TARGET_WORDS)
    for row, column in product(range(2), range(5)):
        target, source = len(TARGET_WORDS[row]), len(SOURCE_WORDS[row])
        real = maps[row, column, :target, :source]
        alone = links(merge_words(real.numpy(), SOURCE_WORDS[row], TARGET_WORDS[row]))
        assert list(links_of(found[row, column].tolist())) == alone


def test_every_reading_is_that_reading_alone(model: SequenceToSequence) -> None:
    source = torch.tensor([[5, 6, 7, 8, 3], [5, 6, 3, 0, 0]])
    memory = model.encode(source, source != 0)
    tokens = torch.tensor([[2, 11, 12, 13], [2, 14, 0, 0]])
    everything = dict(every_setting(model, memory, tokens, SOURCE_WORDS, TARGET_WORDS))
    # 3 layers, 3 heads and all together, 2 steps, weights and norms
    assert len(everything) == 3 * 4 * 2 * 2
    for reading, found in everything.items():
        maps = attention_at_setting(model, memory, tokens, reading)
        alone = word_links(maps[:, None], SOURCE_WORDS, TARGET_WORDS)[:, 0]
        assert found.tolist() == alone.tolist(), reading


@pytest.mark.parametrize(
    ("reading", "message"),
    [
        (AlignmentSetting(3, at_input=False), "no such layer.*1 to 3.*4"),
        (AlignmentSetting(0, at_input=True, head=3), "no such head.*1 to 3.*4"),
    ],
)
def test_a_layer_or_head_that_is_not_there_is_named(
    model: SequenceToSequence, reading: AlignmentSetting, message: str
) -> None:
    with pytest.raises(ModelError, match=f"(?s){message}"):
        attention_at_setting(
            model, model.encode(torch.tensor([[5, 3]])), torch.tensor([[2, 5]]), reading
        )


def test_mutual_information_of_a_code_is_its_entropy() -> None:
    # Four equally frequent pieces, each with a translation of its own: log 4. All with one: 0.
    assert mutual_information(Counter({(x, x + 10): 5 for x in range(4)})) == pytest.approx(
        math.log(4)
    )
    assert mutual_information(Counter({(x, 10): 5 for x in range(4)})) == pytest.approx(0)


def test_mutual_information_is_the_one_computed_by_hand() -> None:
    # p(0,0) = 1/2, p(0,1) = p(1,1) = 1/4: p(x=0) = 3/4, p(y=0) = p(y=1) = 1/2
    by_hand = 1 / 2 * math.log(4 / 3) + 1 / 4 * math.log(2 / 3) + 1 / 4 * math.log(2)
    assert mutual_information(Counter({(0, 0): 2, (0, 1): 1, (1, 1): 1})) == pytest.approx(by_hand)


def test_reading_that_sees_the_translation_is_chosen(
    model: SequenceToSequence, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Words are translated by adding 100, in reverse order; one reading of six looks at the right
    # ones, the others at a fixed place.
    sources = [[5, 6, 7], [8, 5], [6, 8, 7, 5]]
    targets = [[piece + 100 for piece in reversed(source)] for source in sources]

    def fake(
        _: object, __: object, ___: object, readings: list[AlignmentSetting]
    ) -> list[torch.Tensor]:
        return [seen(reading) for reading in readings]

    def seen(reading: AlignmentSetting) -> torch.Tensor:
        weights = torch.zeros(3, 4, 5)
        if reading != AlignmentSetting(2, at_input=True):
            weights[:, :, 0] = 1
            return weights
        for row, source in enumerate(sources):
            for place in range(len(source)):
                weights[row, place, len(source) - 1 - place] = 1
        return weights

    monkeypatch.setattr(extract, "cross_attentions", fake)
    assert choose_setting(model, sources, targets) == AlignmentSetting(2, at_input=True)


def test_reading_of_a_real_model_is_one_of_its_own(model: SequenceToSequence) -> None:
    chosen = choose_setting(model, [[5, 6, 7], [8]], [[11], [12, 13, 14]])
    assert chosen.layer in range(3)
