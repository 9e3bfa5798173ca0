"""Which pieces are taken out, and what stands in their places."""

import numpy as np
import pytest

from jumok.data.texts.masking import Masking, word_starts
from jumok.data.tokenizer import Tokenizer

VOCABULARY = 1009
OPENS = np.arange(VOCABULARY) % 2 == 0  # even pieces start a word


def masking(share: float = 0.15, whole_words: bool = False) -> Masking:
    return Masking(share, 0.8, 0.1, whole_words, OPENS)


def test_chosen_pieces_are_corrupted_80_10_10():
    pieces = np.full(200_000, 503)
    found = masking().corrupt(pieces, np.random.default_rng(1))
    masked, kept = np.mean(found == VOCABULARY), np.mean(found == 503)
    # Three standard deviations of a share over 200,000 draws are 0.003.
    assert masked == pytest.approx(0.8, abs=0.003)
    assert kept == pytest.approx(0.1 + 0.1 / (VOCABULARY - 4), abs=0.003)
    drawn = found[(found != VOCABULARY) & (found != 503)]
    assert drawn.min() >= 4  # no PAD, UNKNOWN, START or END
    assert drawn.max() < VOCABULARY
    assert len(np.unique(drawn)) == VOCABULARY - 4 - 1


@pytest.mark.parametrize(("length", "expected"), [(1, 1), (3, 1), (10, 2), (20, 3), (100, 15)])
def test_the_share_of_a_text_is_chosen_and_one_piece_at_least(length, expected):
    text = np.full(length, 7)
    chosen = masking().choose(text, np.random.default_rng(1))
    assert chosen.sum() == expected


def test_every_piece_is_chosen_as_often_as_any_other():
    random = np.random.default_rng(1)
    counts = sum(masking().choose(np.full(20, 7), random).astype(int) for _ in range(4000))
    # 3 of 20 in 4,000 draws: 600 each, with a standard deviation of 22.6.
    assert abs(counts - 600).max() < 100


def test_whole_words_are_chosen_or_left():
    text = np.array([8, 3, 5, 10, 12, 7, 14, 9, 9, 9])  # words of 3, 1, 2 and 4 pieces
    random = np.random.default_rng(1)
    for _ in range(50):
        chosen = masking(0.3, whole_words=True).choose(text, random)
        assert 1 <= chosen.sum() <= 4
        words = np.array([0, 0, 0, 1, 2, 2, 3, 3, 3, 3])
        for word in range(4):
            assert len(set(chosen[words == word])) == 1


def test_a_word_longer_than_the_share_is_taken_only_where_it_comes_first():
    text = np.array([8, 3, 5, 7, 9])  # one word: there is nothing else to guess
    assert masking(0.2, whole_words=True).choose(text, np.random.default_rng(1)).all()


def test_words_are_the_tokenizers():
    lines = ["the cat sat on the mat", "나는 학생입니다", "dogs and cats and birds"] * 3
    tokenizer = Tokenizer.train(lines, "bpe", 330)
    made = Masking(0.15, 0.8, 0.1, True, word_starts(tokenizer))
    assert made.mask_id == tokenizer.size
    for line in (*lines, "cats sat on birds"):
        ids = tokenizer.encode(line)
        assert made.words(np.array(ids)).tolist() == tokenizer.words(ids)
