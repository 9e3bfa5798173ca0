"""Words of every text: the most frequent tokens, few of a small vocabulary."""

import pytest

from jumok.data.tokenizer import Tokenizer
from jumok.tracing.frequent import frequent_words, most_frequent
from tests.conftest import TINY_TEXT

TEXT = [*TINY_TEXT, *(f"the number {number} is the one" for number in range(300))]
SENTENCE = "the cat sat on the mat"


@pytest.mark.parametrize(
    ("size", "tokens", "words"),
    [
        (350, [], ()),
        (500, ["he", "\u2581t", "\u2581the"], (0, 4)),
        (600, ["he", "\u2581t", "\u2581the", "on", "\u2581on"], (0, 3, 4)),
    ],
)
def test_frequent_words_are_the_first_of_the_vocabulary(size, tokens, words):
    """2 % of 40, 190 and 290 tokens: the others are letters and bytes."""
    tokenizer = Tokenizer.train(TEXT, "bpe", size)
    assert tokenizer.pieces(sorted(most_frequent(tokenizer))) == tokens
    assert frequent_words(tokenizer, tokenizer.encode(SENTENCE)) == words


def test_a_word_of_several_tokens_is_not_frequent():
    tokenizer = Tokenizer.train(TEXT, "bpe", 500)
    ids = tokenizer.encode("there the")
    assert "\u2581the" in tokenizer.pieces(ids)[:-1]
    assert frequent_words(tokenizer, ids) == (1,)
