"""Whole texts to ids and back, whatever they hold."""

import hashlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jumok.data.texts.tokenizer import (
    ByteTokenizer,
    PieceTokenizer,
    load_text_tokenizer,
    train_text_tokenizer,
)
from jumok.data.tokenizer import END, PAD, START, UNKNOWN, Tokenizer
from jumok.errors import DataError

PLAY = "ROMEO:\nWhat light?\n\n  It is the east,\nand Juliet is the sun.  Arise!\n가나다 마바사\n"


@pytest.fixture(scope="module")
def pieces() -> PieceTokenizer:
    return train_text_tokenizer([PLAY], "bpe", 330)


def test_bytes_are_numbered_behind_the_specials():
    assert ByteTokenizer().encode("A\n") == [65 + 4, 10 + 4]
    assert ByteTokenizer().decode([START, 65 + 4, 10 + 4, END, PAD, UNKNOWN]) == "A\n"
    assert ByteTokenizer().size == 260


@given(st.text(st.characters(blacklist_categories=["Cs"]), max_size=20))
@settings(max_examples=40, deadline=None)
def test_bytes_give_any_text_back_in_nfc(text):
    import unicodedata

    tokenizer = ByteTokenizer()
    assert tokenizer.decode(tokenizer.encode(text)) == unicodedata.normalize("NFC", text)


def test_cut_characters_are_shown_as_such():
    assert ByteTokenizer().decode(ByteTokenizer().encode("가")[:2]) == "\ufffd"


@pytest.mark.parametrize(
    "text", [PLAY, "", "\n", "\n\n\n", " ", "a  b ", "   x\n y", "🙂<newline></s>\n<s>", "나"]
)
def test_pieces_give_every_line_and_space_back(pieces, text):
    assert pieces.decode(pieces.encode(text)) == text


def test_texts_decode_in_parts_where_a_line_ends(pieces):
    first, second = pieces.encode("ROMEO:\n"), pieces.encode(" What light?")
    assert pieces.decode(first) + pieces.decode(second) == pieces.decode(first + second)
    assert first + second == pieces.encode("ROMEO:\n What light?")


def test_no_text_is_encoded_as_the_line_break(pieces):
    newline = pieces.encode("\n")
    assert len(newline) == 1
    assert newline[0] not in pieces.encode("<newline> a ▁ \t")


@pytest.mark.parametrize("kind", ["byte", "char", "unigram"])
def test_a_saved_tokenizer_comes_back_with_its_hash(tmp_path, kind):
    tokenizer = train_text_tokenizer([PLAY], kind, 295)
    tokenizer.save(tmp_path / "tokenizer.model")
    loaded = load_text_tokenizer(tmp_path / "tokenizer.model")
    assert type(loaded) is type(tokenizer)
    assert loaded.encode(PLAY) == tokenizer.encode(PLAY)
    file = (tmp_path / "tokenizer.model").read_bytes()
    assert loaded.hash == tokenizer.hash == hashlib.sha256(file).hexdigest()


def test_a_tokenizer_of_single_lines_is_refused(tmp_path):
    Tokenizer.train(PLAY.split("\n"), "char", 64, byte_fallback=False).save(tmp_path / "t")
    with pytest.raises(DataError, match="no token for the line break"):
        load_text_tokenizer(tmp_path / "t")
    with pytest.raises(DataError, match="cannot be read"):
        load_text_tokenizer(tmp_path / "none")
