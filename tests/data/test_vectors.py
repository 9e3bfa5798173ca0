"""Files of vectors in every format, and every way in which they lie."""

import gzip
import struct
from pathlib import Path

import numpy as np
import pytest

from jumok.data.files.vectors import read_vectors
from jumok.errors import DataError

pytest.importorskip("gensim")

WORDS = ["king", "여왕", "."]
MATRIX = [[1.0, -0.5, 0.25], [2.0, 0.0, 1e-3], [3.0, 4.0, -5.0]]
ROWS = "king 1.0 -0.5 0.25\n여왕 2.0 0.0 1e-3\n. 3.0 4.0 -5.0\n"


def text(folder: Path, content: str | bytes, name: str = "vectors.txt") -> Path:
    file = folder / name
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    return file


def binary(count: int = 3, width: int = 3, words: list[str] = WORDS, end: str = "\n") -> bytes:
    rows = [
        f"{word} ".encode() + struct.pack("<3f", *row) + end.encode()
        for word, row in zip(words, MATRIX, strict=True)
    ]
    return f"{count} {width}\n".encode() + b"".join(rows)


def refusal(folder: Path, content: str | bytes) -> str:
    with pytest.raises(DataError) as caught:
        read_vectors(text(folder, content))
    return str(caught.value)


@pytest.mark.parametrize(
    "content",
    [
        ROWS,  # GloVe
        f"3 3\n{ROWS}",  # word2vec
        f"3 3\n{ROWS}".replace("\n", " \n").replace("3 3 ", "3 3"),  # fastText .vec
        ROWS.replace("\n", "\r\n"),
        binary(),
        binary(end=""),  # gensim writes no line ends
    ],
    ids=["glove", "word2vec", "fasttext vec", "carriage returns", "binary", "binary unbroken"],
)
def test_every_format_gives_the_same_words_and_vectors(tmp_path, content):
    vectors = read_vectors(text(tmp_path, content))
    assert vectors.words == WORDS
    assert vectors.matrix.dtype == np.float32
    np.testing.assert_allclose(vectors.matrix, MATRIX, rtol=1e-6)
    assert vectors.width == 3


def test_what_gensim_writes_is_read(tmp_path):
    from gensim.models import KeyedVectors

    theirs = KeyedVectors(3)
    theirs.add_vectors(WORDS, np.array(MATRIX, np.float32))
    for kind in (False, True):
        theirs.save_word2vec_format(str(tmp_path / "v"), binary=kind)
        vectors = read_vectors(tmp_path / "v")
        assert vectors.words == WORDS
        np.testing.assert_allclose(vectors.matrix, MATRIX, rtol=1e-6)


def test_a_fasttext_model_is_read_and_a_cut_one_refused(tmp_path):
    from gensim.models import FastText
    from gensim.models.fasttext import save_facebook_model

    sizes = {"vector_size": 4, "min_count": 1, "epochs": 1, "bucket": 50, "workers": 1}
    trained = FastText([["king", "여왕"], ["여왕", "."]], **sizes)
    file = tmp_path / "model.bin"
    save_facebook_model(trained, str(file))
    vectors = read_vectors(file)
    assert sorted(vectors.words) == sorted(WORDS)
    row = vectors.words.index("여왕")
    np.testing.assert_allclose(vectors.matrix[row], trained.wv["여왕"], rtol=1e-5)
    whole = file.read_bytes()
    message = refusal(tmp_path, whole[: len(whole) // 2])
    assert "this fastText model is damaged or truncated" in message
    assert "do:       download it again, or use its .vec file" in message


def test_compressed_text_is_read(tmp_path):
    file = text(tmp_path, gzip.compress(ROWS.encode()), "glove.txt.gz")
    assert read_vectors(file).words == WORDS


def test_a_row_of_another_width_is_named(tmp_path):
    message = refusal(tmp_path, ROWS.replace("여왕 2.0 0.0", "여왕 2.0"))
    assert "vectors.txt, line 2: this row has a different number of columns." in message
    assert "expected: a word and 3 numbers, with single spaces between" in message
    assert "got:      2 numbers: '여왕 2.0 1e-3'" in message


def test_a_header_of_another_width_is_named(tmp_path):
    message = refusal(tmp_path, f"3 4\n{ROWS}")
    assert "line 2: this row has a different number of columns." in message
    assert "a word and 4 numbers" in message


@pytest.mark.parametrize("count", [2, 5])
@pytest.mark.parametrize("kind", ["text", "binary"])
def test_a_header_that_lies_is_named(tmp_path, count, kind):
    content = binary(count) if kind == "binary" else f"{count} 3\n{ROWS}"
    message = refusal(tmp_path, content)
    assert "line 1: the header does not match the file (truncated?)." in message
    assert f"expected: {count} words, according to the header" in message
    assert "got:      3 words" in message


def test_a_word_that_comes_twice_is_named(tmp_path):
    message = refusal(tmp_path, f"4 3\n{ROWS}king 0 0 1\n")
    assert "line 5: a word occurs twice." in message
    assert "got:      'king', also on line 2" in message
    message = refusal(tmp_path, binary(words=["king", ".", "king"]))
    assert "got:      'king', words 1 and 3" in message


def test_a_binary_cut_short_is_said_to_be(tmp_path):
    message = refusal(tmp_path, binary()[:-5])
    assert "the file ends inside a vector" in message
    assert "expected: 3 words with 3 numbers of 4 bytes each, from the header" in message
    assert "got:      2 whole ones and 10 bytes" in message


def test_words_that_are_not_utf8_are_named(tmp_path):
    message = refusal(tmp_path, ROWS.encode().replace("여왕".encode(), b"caf\xe9"))
    assert "line 2: a word is not valid UTF-8." in message
    assert "got:      byte 0xe9" in message
    message = refusal(tmp_path, binary().replace("여왕".encode(), b"caf\xe9"))
    assert "byte 0xe9 in word 2 of 3" in message


def test_what_is_no_number_is_named(tmp_path):
    message = refusal(tmp_path, ROWS.replace("4.0", "four"))
    assert "line 3: this is not a number." in message
    assert "got:      'four' in '. 3.0 four -5.0'" in message


@pytest.mark.parametrize("number", ["nan", "inf"])
def test_numbers_that_are_not_finite_are_named(tmp_path, number):
    message = refusal(tmp_path, f"3 3\n{ROWS}".replace("4.0", number))
    assert "line 4: a vector contains a number that is not finite." in message
    assert "got:      the word '.'" in message


@pytest.mark.parametrize("content", ["I am a student.\nYou are not.\n", "\n\n", "word\n"])
def test_other_text_is_refused(tmp_path, content):
    assert "vectors.txt, line" in refusal(tmp_path, content)


def test_a_missing_file_and_an_empty_one_are_refused(tmp_path):
    with pytest.raises(DataError, match="there is no such file"):
        read_vectors(tmp_path / "none.txt")
    assert "the file is empty" in refusal(tmp_path, "")
    assert "there are no vectors in this file" in refusal(tmp_path, "0 3\n")


def test_a_byte_order_mark_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "vectors.txt"
    file.write_text("good 1 2\nbad 3 4\n", encoding="utf-8-sig")
    with pytest.raises(DataError, match="begins with a byte order mark"):
        read_vectors(file)
