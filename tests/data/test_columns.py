"""Pairs by columns are those that are read one by one."""

import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from jumok.data.pairs.corpus import Corpus, read_columns, read_pairs
from jumok.data.pairs.pair import ColumnReader, Pair, PairColumns, columns_of
from jumok.errors import DataError

PAIRS = [Pair(f"s{line}", f"t{line}", line) for line in range(1, 12)]


def written(folder: Path, lines: int = 30_011) -> Path:
    """A table of three columns, of more than a megabyte, with a line break inside a row."""
    draw = random.Random(5)
    rows = [f"x\t{'wörter ' * draw.randrange(9)}{row}\tΣ {row}" for row in range(lines)]
    rows[7] = "x\ta\rb\tc\td"
    file = folder / "pairs.tsv"
    file.write_text("\n".join(rows) + "\n", "utf-8", newline="\n")
    return file


def of(corpus: Corpus) -> tuple[list[Pair], str]:
    report = corpus.report()
    return [pair for part in read_columns(corpus, report, 1000) for pair in part], str(report)


def one_by_one(corpus: Corpus) -> tuple[list[Pair], str]:
    report = corpus.report()
    return list(read_pairs(corpus, report)), str(report)


def test_a_table_is_the_same_by_columns(tmp_path: Path):
    corpus = Corpus(file=written(tmp_path), source_column=2, target_column=1)
    assert of(corpus) == one_by_one(corpus)
    left = replace(corpus, left=np.random.default_rng(1).random(30_011) < 0.4)
    assert of(left) == one_by_one(left)


def test_damaged_rows_are_left_out_or_named(tmp_path: Path):
    file = written(tmp_path, 99)
    content = file.read_bytes().decode().replace("\tΣ 50", "").replace("\tΣ 61", "")
    file.write_bytes(content.encode())
    corpus = Corpus(file=file, source_column=1, target_column=2, skip_damaged=True)
    assert of(corpus) == one_by_one(corpus)
    assert len(of(corpus)[0]) == 97
    with pytest.raises(DataError, match=r"line 51: the row has too few columns"):
        of(replace(corpus, skip_damaged=False))


def test_other_files_are_the_same_by_columns(tmp_path: Path):
    for name in ("a.en", "a.ko"):
        (tmp_path / name).write_text("".join(f"{name} {row}\n" for row in range(2113)), "utf-8")
    corpus = Corpus(tmp_path / "a.en", tmp_path / "a.ko")
    assert of(corpus) == one_by_one(corpus)
    named = tmp_path / "named.tsv"
    named.write_text("en\tko\na\tb\n", "utf-8")
    headed = Corpus(file=named, source_column="en", target_column="ko")
    assert of(headed) == one_by_one(headed) == ([Pair("a", "b", 2)], str(headed.report()))


def test_a_corpus_without_pairs_is_refused(tmp_path: Path):
    corpus = Corpus(file=written(tmp_path, 9), source_column=1, target_column=2)
    with pytest.raises(DataError, match="there are no pairs in it"):
        of(replace(corpus, left=np.zeros(9, dtype=np.bool_)))


def test_rows_are_taken_and_put_back():
    reader = ColumnReader(columns_of(PAIRS, 3))
    first = reader.take(5)
    assert list(first) == PAIRS[:5]
    assert first[4] == PAIRS[4]
    reader.put_back(first)
    assert [list(reader.take(4)) for _ in range(4)] == [PAIRS[:4], PAIRS[4:8], PAIRS[8:], []]


def test_columns_are_those_of_the_pairs():
    columns = PairColumns.of(PAIRS)
    assert (columns.sources[1], columns.targets[2]) == ("s2", "t3")
    assert list(columns.part(2, 4)) == PAIRS[2:4]
