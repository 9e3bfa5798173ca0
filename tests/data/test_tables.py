import gzip
import json
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

from jumok.data.files.reading import MENDED
from jumok.data.pairs.corpus import Corpus, read_pairs
from jumok.data.pairs.pair import Pair
from jumok.data.report import CorpusReport
from jumok.errors import DataError, MissingExtraError
from tests.missing import uninstall

EXPECTED = [("one", '"하나'), ("two", "둘")]


def sides(corpus: Corpus) -> list[tuple[str, str]]:
    return [(pair.source, pair.target) for pair in read_pairs(corpus)]


def error(corpus: Corpus) -> str:
    with pytest.raises(DataError) as caught:
        list(read_pairs(corpus))
    return str(caught.value)


def test_tsv_columns_by_number_keep_quotation_marks(tmp_path: Path) -> None:
    file = tmp_path / "a.tsv.gz"
    file.write_bytes(gzip.compress('talk\tone\t"하나\ntalk\ttwo\t둘\textra\n'.encode()))
    assert sides(Corpus(file=file, source_column=1, target_column=2)) == EXPECTED


def test_tsv_columns_by_name_skip_the_header(tmp_path: Path) -> None:
    file = tmp_path / "a.tsv"
    file.write_text('ko\ten\n"하나\tone\n둘\ttwo\n')
    corpus = Corpus(file=file, source_column="en", target_column="ko")
    assert list(read_pairs(corpus)) == [Pair("one", '"하나', 2), Pair("two", "둘", 3)]


def test_tsv_names_the_row_that_lacks_columns(tmp_path: Path) -> None:
    file = tmp_path / "a.tsv"
    file.write_text("one\t하나\ntwo\n")
    message = error(Corpus(file=file))
    assert message.startswith(f"{file}, line 2: the row has too few columns.")
    assert "expected: at least 2, separated by tabs" in message
    assert "got:      1" in message


def test_tsv_names_the_columns_there_are(tmp_path: Path) -> None:
    file = tmp_path / "a.tsv"
    file.write_text("en\tko\none\t하나\n")
    message = error(Corpus(file=file, source_column="en", target_column="kr"))
    assert "there is no column 'kr'." in message
    assert "one of 'en', 'ko'" in message
    assert "--delimiter" not in message
    file = tmp_path / "a.csv"
    file.write_text("en;ko\none;하나\n")
    message = error(Corpus(file=file, source_column="en", target_column="ko"))
    assert "if ';' separates the columns: --delimiter ';'" in message


def test_jsonl_reads_two_keys_and_mends_line_breaks(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    rows = [{"en": "one", "ko": '"하나', "id": 5}, {"ko": "둘\n둘", "en": "two"}]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    report = CorpusReport("a")
    corpus = Corpus(file=file, source_column="en", target_column="ko")
    assert list(read_pairs(corpus, report)) == [Pair("one", '"하나', 1), Pair("two", "둘 둘", 2)]
    assert report.mended[MENDED].first == [2]


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ('{"en": "a", ', "line 2: the line is not JSON."),
        ("[1]", "line 2: the line is not a JSON object."),
        ('{"en": "a"}', "line 2: the record has no text under 'ko'."),
        ('{"en": "a", "ko": 3.5}', "got:      float"),
    ],
)
def test_jsonl_names_the_bad_line(tmp_path: Path, line: str, what: str) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text('{"en": "a", "ko": "b"}\n' + line + "\n")
    assert what in error(Corpus(file=file, source_column="en", target_column="ko"))


@pytest.mark.parametrize("name", ["a.parquet", "a.parquet.gz"])
@pytest.mark.parametrize("columns", [("en", "ko"), (1, 0)])
def test_parquet_reads_columns_by_name_and_number(
    tmp_path: Path, name: str, columns: tuple[str | int, str | int]
) -> None:
    table = pyarrow.table({"ko": ['"하나', "둘", None], "en": ["one", "two", "three"]})
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet", row_group_size=2)
    if name.endswith(".gz"):
        (tmp_path / name).write_bytes(gzip.compress((tmp_path / "a.parquet").read_bytes()))
    corpus = Corpus(file=tmp_path / name, source_column=columns[0], target_column=columns[1])
    assert sides(corpus) == [*EXPECTED, ("three", "")]


def test_parquet_says_what_is_wrong(tmp_path: Path) -> None:
    file = tmp_path / "a.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"en": ["one"], "count": [7.5]}), file)
    assert "one of 'en', 'count'" in error(Corpus(file=file, source_column="fr"))
    message = error(Corpus(file=file, source_column="en", target_column="count"))
    assert message.startswith(f"{file}, line 1: the columns do not hold text.")
    file.write_bytes(b"PAR1 and then nothing")
    assert "the file cannot be read as Parquet" in error(Corpus(file=file))


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "parquet"])
def test_any_number_of_columns_is_read_in_one_pass_and_integers_are_their_digits(tmp_path, suffix):
    file = tmp_path / f"a.{suffix}"
    if suffix == "parquet":
        table = {"en": ["one"], "ko": ["하나"], "year": [1999], "domain": ["news"]}
        pyarrow.parquet.write_table(pyarrow.table(table), file)
    elif suffix == "jsonl":
        file.write_text('{"en": "one", "ko": "하나", "year": 1999, "domain": "news"}\n', "utf-8")
    else:
        rows = [["en", "ko", "year", "domain"], ["one", "하나", "1999", "news"]]
        mark = {"csv": ",", "tsv": "\t"}[suffix]
        file.write_text("".join(f"{mark.join(row)}\n" for row in rows), "utf-8")
    corpus = Corpus(file=file, source_column="ko", target_column="en", further=("domain", "year"))
    (pair,) = read_pairs(corpus)
    assert pair[:2] == ("하나", "one")
    assert pair.further == ("news", "1999")


def test_parquet_asks_for_its_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    uninstall(monkeypatch, "pyarrow")
    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    with pytest.raises(MissingExtraError, match=r"reading Parquet files needs the extra 'formats'"):
        list(read_pairs(Corpus(file=tmp_path / "a.parquet")))
