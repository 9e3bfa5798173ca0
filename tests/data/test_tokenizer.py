import unicodedata
from pathlib import Path

import numpy as np
import pytest
import sentencepiece
from hypothesis import given
from hypothesis import strategies as st

from jumok.data.tokenizer import (
    END,
    PAD,
    START,
    UNKNOWN,
    Tokenizer,
    TokenizerKind,
    normalize,
    sample_lines,
)
from jumok.errors import DataError
from tests.data.sentences import ENGLISH

KINDS: list[TokenizerKind] = ["unigram", "bpe", "char"]
TEXT = st.text(st.characters(codec="utf-8"))


def spaced(text: str) -> str:
    """What survives encoding: normalised text whose words stand one space apart."""
    return " ".join(word for word in normalize(text).split(" ") if word)


@given(TEXT)
def test_decode_gives_any_text_back(tokenizer: Tokenizer, text: str) -> None:
    assert tokenizer.decode(tokenizer.encode(text)) == spaced(text)


@given(TEXT)
def test_encode_writes_no_special(tokenizer: Tokenizer, text: str) -> None:
    assert not {PAD, UNKNOWN, START, END} & set(tokenizer.encode(text))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("text", ["<s>", "</s>", "<pad>", "<unk>", "a <s> b </s>", "<0x41>"])
def test_text_that_looks_like_a_special_stays_text(kind: TokenizerKind, text: str) -> None:
    tokenizer = Tokenizer.train([*ENGLISH, text], kind, 310)
    ids = tokenizer.encode(text)
    assert min(ids) > END
    assert tokenizer.decode(ids) == text


def test_decode_writes_neither_specials_nor_line_breaks(tokenizer: Tokenizer) -> None:
    ids = tokenizer.encode("a man")
    newline = tokenizer.pieces(range(tokenizer.size)).index("<0x0A>")
    assert tokenizer.decode([START, *ids, END, PAD, PAD]) == "a man"
    assert tokenizer.decode([*ids, newline, *ids]) == "a man  a man"


def test_ids_are_those_of_the_names(tokenizer: Tokenizer) -> None:
    ids = tokenizer.encode("the cat \u732b")
    assert tokenizer.ids(tokenizer.pieces(ids)) == ids
    assert tokenizer.ids(["no such subword"]) == [UNKNOWN]


def test_normalize_composes_and_blanks_control_characters() -> None:
    assert normalize(unicodedata.normalize("NFD", "학교")) == "학교"
    assert normalize("a\tb\x00c\x1bd\u2028e\x85f▁g") == "a b c d e f g"
    assert normalize("non\u00a0breaking") == "non\u00a0breaking"


@given(st.lists(TEXT, max_size=7))
def test_encode_batch_and_flat_are_encode(tokenizer: Tokenizer, texts: list[str]) -> None:
    expected = [tokenizer.encode(text) for text in texts]
    assert tokenizer.encode_batch(texts, threads=2) == expected
    flat, lengths = tokenizer.encode_flat(texts)
    assert flat.tolist() == [id for ids in expected for id in ids]
    assert lengths.tolist() == [len(ids) for ids in expected]


@given(TEXT)
def test_words_are_what_spaces_separate(tokenizer: Tokenizer, text: str) -> None:
    ids = tokenizer.encode(text)
    words = tokenizer.words(ids)
    pieces: dict[int, list[int]] = {}
    for id, word in zip(ids, words, strict=True):
        pieces.setdefault(word, []).append(id)
    found = [tokenizer.decode(pieces[word]) for word in sorted(pieces)]
    # One word can hold nothing but what decoding blanks; what is left must agree.
    assert " ".join(found) == spaced(text)


def test_words_join_a_lone_space_to_the_word_it_precedes(tokenizer: Tokenizer) -> None:
    names = tokenizer.pieces(range(tokenizer.size))
    space, a, man = names.index("▁"), names.index("▁a"), names.index("m")
    assert tokenizer.words([a, man, space, man, a, END]) == [0, 0, 1, 1, 2, 2]
    assert tokenizer.words([space, a, space]) == [0, 0, 0]
    assert tokenizer.words([]) == []


@pytest.mark.parametrize("kind", KINDS)
def test_training_twice_gives_the_same_tokenizer(kind: TokenizerKind, tmp_path: Path) -> None:
    lines = [f"{line} {number}" for number in range(300) for line in ENGLISH]
    first, second = (Tokenizer.train(lines, kind, 330, sample=500) for _ in range(2))
    assert first.model == second.model
    first.save(tmp_path / "tokenizer.model")
    assert Tokenizer.load(tmp_path / "tokenizer.model").hash == second.hash


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_training_has_exactly_the_size_asked_for(kind: TokenizerKind) -> None:
    assert Tokenizer.train(ENGLISH, kind, 311).size == 311
    without_bytes = Tokenizer.train(ENGLISH, kind, 41, byte_fallback=False)
    assert without_bytes.size == 41
    assert UNKNOWN in without_bytes.encode("물")


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_training_names_the_largest_vocabulary_the_text_allows(kind: TokenizerKind) -> None:
    with pytest.raises(DataError) as caught:
        Tokenizer.train(ENGLISH, kind, 5000)
    message = str(caught.value)
    assert "the text is too small for a vocabulary of this size." in message
    most = int(message.split("at most ")[1].split(" ", 1)[0])
    assert Tokenizer.train(ENGLISH, kind, most).size == most
    with pytest.raises(DataError):
        Tokenizer.train(ENGLISH, kind, most + 1)


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_training_names_the_smallest_vocabulary_the_characters_need(kind: TokenizerKind) -> None:
    characters = len(set("".join(ENGLISH)) - {" "}) + 1  # ▁
    with pytest.raises(DataError) as caught:
        Tokenizer.train(ENGLISH, kind, 50)
    assert f"at least {4 + 256 + characters} subwords (256 of them bytes)" in str(caught.value)


def test_training_by_character_needs_room_for_specials_and_bytes() -> None:
    with pytest.raises(DataError, match=r"at least 260 subwords \(256 of them bytes\)"):
        Tokenizer.train(ENGLISH, "char", 259)


def test_training_refuses_no_text() -> None:
    with pytest.raises(DataError, match="there is no text to train a tokenizer on"):
        Tokenizer.train(["", "  "], "bpe", 300)


def test_load_says_what_is_wrong(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="No such file"):
        Tokenizer.load(tmp_path / "missing")
    (tmp_path / "text").write_text("no model")
    with pytest.raises(DataError, match="this is not a SentencePiece model"):
        Tokenizer.load(tmp_path / "text")


def test_load_refuses_specials_numbered_otherwise(tmp_path: Path) -> None:
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(ENGLISH), model_prefix=str(tmp_path / "m"), vocab_size=50,
        minloglevel=2,
    )  # fmt: skip
    with pytest.raises(DataError) as caught:
        Tokenizer.load(tmp_path / "m.model")
    assert "expected: pad_id=0, unk_id=1, bos_id=2, eos_id=3" in str(caught.value)
    assert "got:      pad_id=-1, unk_id=0, bos_id=1, eos_id=2" in str(caught.value)


def test_sample_lines_takes_all_when_there_are_few() -> None:
    assert sample_lines(iter("abc"), 3, seed=1) == ["a", "b", "c"]
    assert sample_lines(iter("ab"), 3, seed=1) == ["a", "b"]


def test_sample_lines_takes_every_line_equally_often() -> None:
    lines = [str(number) for number in range(23)]
    counts = np.zeros(23)
    for seed in range(2300):
        for line in sample_lines(iter(lines), 5, seed):
            counts[int(line)] += 1
    # Binomial: 2300 draws of probability 5/23 have mean 500 and standard deviation 19.8.
    assert np.abs(counts - 500).max() < 4.5 * 19.8
    assert counts.sum() == 5 * 2300
