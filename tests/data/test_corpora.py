from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jumok.data.pairs.corpus import Corpus, read_pairs
from jumok.data.pairs.pair import Pair
from jumok.errors import ConfigError, DataError


def aligned(folder: Path, source: str, target: str) -> Corpus:
    (folder / "a.en").write_bytes(source.encode())
    (folder / "a.ko").write_bytes(target.encode())
    return Corpus(folder / "a.en", folder / "a.ko")


def test_read_pairs_joins_the_lines_of_aligned_files(tmp_path: Path) -> None:
    corpus = aligned(tmp_path, "one\ntwo\n\n", "하나\n둘\n셋\n")
    assert list(read_pairs(corpus)) == [
        Pair("one", "하나", 1),
        Pair("two", "둘", 2),
        Pair("", "셋", 3),
    ]


def test_line_breaks_inside_a_sentence_do_not_shift_the_pairs(tmp_path: Path) -> None:
    corpus = aligned(tmp_path, "a\u2028b\nc\rd\ne\x85f\ng\r\n", "1\n2\n3\n4\n")
    assert [pair[:2] for pair in read_pairs(corpus)] == [
        ("a b", "1"),
        ("c d", "2"),
        ("e f", "3"),
        ("g", "4"),
    ]


SENTENCE = st.text(st.characters(exclude_characters="\n\0", codec="utf-8"))


@given(st.lists(st.tuples(SENTENCE, SENTENCE), min_size=1))
def test_n_pairs_in_are_n_pairs_out(
    tmp_path_factory: pytest.TempPathFactory, pairs: list[tuple[str, str]]
) -> None:
    source, target = ("".join(f"{pair[side]}\n" for pair in pairs) for side in (0, 1))
    read = list(read_pairs(aligned(tmp_path_factory.mktemp("pairs"), source, target)))
    assert [pair.line for pair in read] == list(range(1, len(pairs) + 1))


def test_read_pairs_refuses_a_corpus_without_both_sides(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="a corpus needs both sides"):
        list(read_pairs(Corpus(source=tmp_path / "a.en")))
    with pytest.raises(ConfigError, match="either source and target, or file; not both"):
        list(read_pairs(Corpus(tmp_path / "a", tmp_path / "b", tmp_path / "c")))


def test_read_pairs_refuses_an_unknown_format(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        list(read_pairs(Corpus(file=tmp_path / "pairs.docx.gz")))
    assert "expected: one of csv, tsv, jsonl, parquet, tmx, po" in str(caught.value)
    assert "got:      'docx'" in str(caught.value)


def test_read_pairs_refuses_a_file_without_a_pair(tmp_path: Path) -> None:
    file = tmp_path / "a.tsv"
    file.write_text("en\tko\n")
    with pytest.raises(DataError, match="there are no pairs in it"):
        list(read_pairs(Corpus(file=file, source_column="en", target_column="ko")))


def test_the_format_given_goes_before_the_suffix(tmp_path: Path) -> None:
    file = tmp_path / "pairs.txt"
    file.write_text("one\t하나\n")
    assert list(read_pairs(Corpus(file=file, format="tsv"))) == [Pair("one", "하나", 1)]


def test_pairs_come_from_csv(tmp_path: Path) -> None:
    file = tmp_path / "pairs.csv"
    file.write_text('id,en,ko\n1,"one, two",하나\n2,three,셋\n')
    read = list(read_pairs(Corpus(file=file, source_column="en", target_column="ko")))
    assert read == [Pair("one, two", "하나", 2), Pair("three", "셋", 3)]
    file.write_text('en,ko\none,"하나"\n"two","둘, 이"\n"thr\nee","say ""셋"""\n')
    read = list(read_pairs(Corpus(file=file, source_column="en", target_column="ko")))
    assert read == [Pair("one", "하나", 2), Pair("two", "둘, 이", 3), Pair("thr ee", 'say "셋"', 5)]


def test_a_row_that_cannot_be_read_is_skipped_where_that_is_asked(tmp_path: Path) -> None:
    file = tmp_path / "pairs.tsv"
    file.write_text("one\t하나\ntwo\nthree\t셋\n")
    with pytest.raises(DataError, match=r"line 2: the row has too few columns"):
        list(read_pairs(Corpus(file=file)))
    corpus = Corpus(file=file, skip_damaged=True)
    report = corpus.report()
    assert list(read_pairs(corpus, report)) == [Pair("one", "하나", 1), Pair("three", "셋", 3)]
    assert report.dropped["the row has too few columns"].first == [2]
    assert len(list(read_pairs(corpus))) == 2


def test_title_is_the_name_or_the_files() -> None:
    assert Corpus(Path("x/a.en"), Path("x/a.ko")).title == "a.en + a.ko"
    assert Corpus(file=Path("a.tsv"), name="talks").title == "talks"
