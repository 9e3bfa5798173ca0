"""Texts from every kind of file, with labels and without; documents, and the tail held out."""

import gzip
import json
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

from jumok.data.report import CorpusReport
from jumok.data.texts.corpus import HeldOutTail, TextCorpus, all_documents, documents, read_examples
from jumok.errors import ConfigError, DataError

TEXT = "one\ntwo\n \n\nthree\n"
ROWS = [("fine, really", "1"), ("dull", "0")]


def write(folder: Path, kind: str) -> Path:
    file = folder / f"a.{kind}"
    if kind == "csv":
        file.write_text('text,label\n"fine, really",1\ndull,0\n')
    elif kind == "tsv.gz":
        file.write_bytes(gzip.compress(b"text\tlabel\nfine, really\t1\ndull\t0\n"))
    elif kind == "jsonl":
        rows = [{"text": text, "label": int(label)} for text, label in ROWS]
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        texts, labels = zip(*ROWS, strict=True)
        table = pyarrow.table({"text": list(texts), "label": [int(label) for label in labels]})
        pyarrow.parquet.write_table(table, file)
    return file


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
        with pytest.raises(DataError, match=r"a\.txt: there is no text in it"):
            list(documents(TextCorpus(tmp_path / "a.txt"), rule))


def test_mended_lines_are_counted(tmp_path):
    (tmp_path / "a.txt").write_bytes("a\u2028b\nc\n".encode())
    report = CorpusReport("a")
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


def test_of_a_few_files_the_end_of_each_is_held_out():
    """The last of two files would be half of the text, not a tenth."""
    texts = ["abcdefghij", "klmnopqrst"]
    tail = HeldOutTail(0.1, 2, files=True)
    assert list(tail.training(texts)) == ["abcdefghi", "klmnopqrs"]
    assert list(tail.kept_out(texts)) == ["j", "t"]
    many = HeldOutTail(0.1, 10, files=True)
    assert list(many.kept_out(map(str, range(10)))) == ["9"]


@pytest.mark.parametrize("count", [1, 2])
def test_something_is_left_on_both_sides(count):
    texts = ["ab"] * count
    for share in (0.01, 0.5):
        tail = HeldOutTail(share, count)
        assert list(tail.training(texts))
        assert list(tail.kept_out(texts))


@pytest.mark.parametrize("kind", ["csv", "tsv.gz", "jsonl", "parquet"])
def test_texts_and_labels_come_from_any_table(tmp_path: Path, kind: str) -> None:
    corpus = TextCorpus(write(tmp_path, kind), "text", "label")
    assert [(each.text, each.label) for each in read_examples(corpus)] == ROWS


def test_lines_are_texts_and_have_no_labels(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("one\ntwo\nthree\n")
    assert [each.text for each in read_examples(TextCorpus(file, take=2))] == ["one", "two"]
    with pytest.raises(ConfigError, match="lines of text have no labels"):
        list(read_examples(TextCorpus(file, label_column=1)))


def test_csv_names_the_bad_row(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("a,1\nb\n")
    with pytest.raises(DataError, match=r"line 2: the row has too few columns"):
        list(read_examples(TextCorpus(file, 0, 1)))
    file.write_text('a,1\n"b"c,2\n')
    with pytest.raises(DataError, match=r"line 2: the row is not CSV"):
        list(read_examples(TextCorpus(file, 0, 1)))


@pytest.mark.parametrize(
    ("name", "rows", "reason"),
    [
        ("a.tsv", "one\ta\ntwo\nthree\tb\n", "the row has too few columns"),
        ("a.csv", "one,a\ntwo\nthree,b\n", "the row has too few columns"),
        ("a.jsonl", '["one", "a"]\n', "the line is not a JSON object"),
        ("b.jsonl", '{"0": "one", "1": 1}\n{"0": "one"}\n', "the record has no text under '1'"),
        ("c.jsonl", "{\n", "the line is not JSON"),
    ],
)
def test_a_row_that_cannot_be_read_is_skipped_where_that_is_asked(
    tmp_path: Path, name: str, rows: str, reason: str
) -> None:
    file = tmp_path / name
    file.write_text(rows + ('{"0": "x", "1": "a"}\n' if name.endswith("jsonl") else ""))
    corpus = TextCorpus(file, 0, 1)
    with pytest.raises(DataError):
        list(read_examples(corpus, CorpusReport("a")))
    report = CorpusReport("a", skip_damaged=True)
    read = list(read_examples(corpus, report))
    assert read[-1].label in ("a", "b")
    assert (report.read, list(report.dropped)) == (1, [reason])
    assert report.dropped[reason].first == [2 if name != "a.jsonl" and name != "c.jsonl" else 1]
