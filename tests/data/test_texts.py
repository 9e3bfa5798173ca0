"""Files and columns to documents, and the tail that is held out."""

import gzip

import pytest

from jumok.data.report import Report
from jumok.data.texts import HeldOutTail, TextCorpus, all_documents, documents
from jumok.errors import DataError

TEXT = "one\ntwo\n \n\nthree\n"


@pytest.fixture
def corpus(tmp_path):
    (tmp_path / "a.txt").write_text(TEXT)
    return TextCorpus(tmp_path / "a.txt")


def test_a_file_is_one_document_or_many(corpus):
    assert list(documents(corpus, "file")) == [TEXT]
    assert list(documents(corpus, "line")) == ["one", "two", "three"]
    assert list(documents(corpus, "blank-line")) == ["one\ntwo", "three"]


def test_columns_are_lines(tmp_path):
    (tmp_path / "a.tsv").write_text("x\tone\ny\ttwo\n")
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(b'{"text": "one"}\n{"text": "a\\nb"}\n'))
    assert list(documents(TextCorpus(tmp_path / "a.tsv", 1), "line")) == ["one", "two"]
    assert list(documents(TextCorpus(tmp_path / "a.jsonl.gz", "text"), "file")) == ["one\na b\n"]
    plain = TextCorpus(tmp_path / "a.tsv", format="text")
    assert next(documents(plain, "line")) == "x\tone"


def test_a_file_without_text_is_refused(tmp_path):
    (tmp_path / "a.txt").write_text(" \n\n")
    for rule in ("file", "line", "blank-line"):
        with pytest.raises(DataError, match=r"a\.txt: There is no text in it"):
            list(documents(TextCorpus(tmp_path / "a.txt"), rule))


def test_mended_lines_are_counted(tmp_path):
    (tmp_path / "a.txt").write_bytes("a\u2028b\nc\n".encode())
    report = Report("a")
    assert list(documents(TextCorpus(tmp_path / "a.txt"), "line", report)) == ["a b", "c"]
    assert [count.first for count in report.mended.values()] == [[1]]


def test_the_last_part_of_the_only_document_is_held_out_by_characters():
    """nanoGPT's split: the first int(0.9 n) characters are trained on."""
    text = "abcdefghijklmnopqrs"  # 19: the first 17
    tail = HeldOutTail(0.1, 1)
    assert list(tail.training([text])) == [text[:17]]
    assert list(tail.kept_out([text])) == [text[17:]]


def test_the_last_documents_are_held_out(corpus):
    tail = HeldOutTail.of([corpus, corpus], "line", 0.34)
    assert tail.count == 6
    texts = list(all_documents([corpus, corpus], "line"))
    assert list(tail.training(texts)) == texts[:3]
    assert list(tail.kept_out(texts)) == texts[3:]


@pytest.mark.parametrize("count", [1, 2])
def test_something_is_left_on_both_sides(count):
    texts = ["ab"] * count
    for share in (0.01, 0.5):
        tail = HeldOutTail(share, count)
        assert list(tail.training(texts))
        assert list(tail.kept_out(texts))
