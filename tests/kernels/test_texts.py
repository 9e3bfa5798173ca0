"""The loops over texts in C against their readable twins, on texts of many scripts."""

import random

import numpy as np
import pytest

from jumok.data import word_ids
from jumok.data.pairs.cleaning import characters, languages, near
from jumok.data.pairs.cleaning.characters import BatchSide, BothSides
from jumok.data.tokenizer import Tokenizer
from jumok.kernels import texts as loops

pytestmark = pytest.mark.skipif(loops.library() is None, reason="needs a C compiler")

ALPHABET = "aAbß İΣς żé한국中かไ0٣ 7<&@/\u2028\t\u00a0\ufffd\ud800Ã©€\U0001f600\U00020000\u0301  "


def drawn(count: int, longest: int = 90) -> list[str]:
    draw = random.Random(7)
    texts = ["".join(draw.choices(ALPHABET, k=draw.randrange(longest))) for _ in range(count)]
    return [*texts, "", "abc", "x" * 700, "ab " * 300]


def test_characters_are_counted_as_by_the_twin():
    side = BatchSide.of(drawn(211))
    given = side.codes, len(side.texts)
    classes = np.arange(0x110000, dtype=np.uint32).view(np.uint8)[::4].copy()
    for fast, plain, tables in [
        (loops.count_classes, loops.count_classes_plainly, (classes,)),
        (loops.see_kinds, loops.see_kinds_plainly, (characters.kinds(),)),
        (loops.see_pairs, loops.see_pairs_plainly, (characters.kinds(), 64, 128)),
        (loops.measure_runs, loops.measure_runs_plainly, (characters.kinds(), 4 | 256)),
    ]:
        np.testing.assert_array_equal(fast(*given, *tables), plain(*given, *tables))


def test_the_longest_run_is_that_of_letters_in_spaced_scripts():
    found = BatchSide.of(["ab cde f", "中文字母 x", ""]).longest_without(
        characters.SPACE | characters.UNSPACED
    )
    assert found.tolist() == [3, 1, 0]


def test_signatures_are_those_of_the_twin():
    texts = drawn(211)
    batch = BothSides.of(texts, texts[::-1])
    sides = batch.sides
    np.testing.assert_array_equal(near.signatures(*sides), near.signatures_plainly(*sides))


def test_digests_are_those_of_hashlib():
    lengths = (0, 1, 127, 128, 129, 255, 256, 257, 1000)
    joined = b"".join(bytes([97 + length % 26]) * length + b"\n" for length in lengths)
    found = loops.digest_texts(joined, len(lengths))
    np.testing.assert_array_equal(found, loops.digest_texts_plainly(joined))


@pytest.mark.parametrize("sure", [frozenset({"ab", "i̇", "a", "σ", "é"}), frozenset({"a" * 99})])
def test_sure_words_are_found_as_in_python(sure):
    texts = [*drawn(211), "ab a ab", "ab " * 9, "ab a x x x x x x x x x", "ΣΑΣ a ab", "ab\u2003a"]
    side = BatchSide.of(texts)
    rows = np.arange(0, len(texts), 2)
    found = languages._having_enough(side, rows, sure)
    assert found.tolist() == [languages._has_enough(text, sure) for text in texts[::2]]


def test_words_have_the_numbers_of_the_twin_also_when_the_table_grows():
    draw = random.Random(3)
    lines = [" ".join(str(draw.randrange(9000)) for _ in range(9)) for _ in range(2000)]
    fast, plain = loops.WordTable(), word_ids.PlainTable()
    for part in (lines[:7], ["", " ", "  a ", "x" * 100_000], lines):
        joined = "".join(f"{line}\n" for line in part).encode() + loops.BEHIND
        found, expected = fast.numbers(joined, len(part)), plain.numbers(joined, len(part))
        np.testing.assert_array_equal(found[0], expected[0])
        np.testing.assert_array_equal(found[1], expected[1])
    assert fast.words(0) == plain.words(0)
    assert fast.words(5) == plain.words(5)
    ids = np.arange(1000, dtype=np.uint32)
    bounds = np.sort(np.random.default_rng(1).integers(0, 1000, len(fast) + 1))
    for one, other in zip(
        word_ids.spelled(*found, bounds, ids),
        word_ids.spelled_plainly(*found, bounds, ids),
        strict=True,
    ):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("kind", ["bpe", "char", "unigram"])
@pytest.mark.parametrize("library", ["C", "none"])
def test_texts_have_the_ids_that_sentencepiece_gives(kind, library, monkeypatch):
    if library == "none":
        monkeypatch.setattr(loops, "library", lambda: None)
    monkeypatch.setattr(word_ids, "MOST_WORDS", 300)  # so that words are forgotten
    known = ["the cat sat on the mat", "a cat and a dog", "dogs and cats sat", "e\u0301té 中文"]
    tokenizer = Tokenizer.train(known * 9, kind, 280)
    assert (tokenizer._words is None) == (kind == "unigram")
    texts = [text.replace("\ud800", "") for text in drawn(300)]
    texts += ["  the  cat ", "▁the▁cat", "a\nb", " \u0301a", "<s> </s>", *known]
    for part in (texts[:100], texts, known):
        values, lengths = tokenizer.encode_flat(part)
        expected = tokenizer.encode_batch(part)
        assert values.tolist() == [id for ids in expected for id in ids]
        assert lengths.tolist() == [len(ids) for ids in expected]
