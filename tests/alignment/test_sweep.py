"""All readings at once are each reading alone."""

from itertools import product
from pathlib import Path

import pytest
import torch

from jumok.alignment.extract import attention_at_setting, every_setting, word_links
from jumok.alignment.setting import AlignmentSetting
from jumok.alignment.words import links, merge_words
from jumok.bundle.reading import read_bundle
from jumok.bundle.weights import load_model
from jumok.errors import ModelError
from jumok.systems.translation.pairs import links_of

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


def test_every_reading_is_that_reading_alone(tiny_bundle: Path) -> None:
    model = load_model(read_bundle(tiny_bundle))
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
    tiny_bundle: Path, reading: AlignmentSetting, message: str
) -> None:
    model = load_model(read_bundle(tiny_bundle))
    with pytest.raises(ModelError, match=f"(?s){message}"):
        attention_at_setting(
            model, model.encode(torch.tensor([[5, 3]])), torch.tensor([[2, 5]]), reading
        )
