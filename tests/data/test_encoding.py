"""The advice for files that are not UTF-8 names their character set."""

from pathlib import Path

import pytest

from jumok.data.files.encoding import character_sets, conversion
from jumok.data.files.reading import read_lines
from jumok.data.pairs.corpus import Corpus, read_columns, read_pairs
from jumok.data.report import CorpusReport
from jumok.data.texts.corpus import TextCorpus, read_examples
from jumok.errors import ConfigError, DataError

TEXTS = {
    "ko": "고양이는 개를 봤어요. 나는 학교에 갑니다.\n안녕하세요, 오늘은 날씨가 좋네요.\n",
    "ja": "猫は犬を見ました。私は学校へ行きます。\nこんにちは、今日は天気がいいです。\n",
    "fr": "Le garçon a été à l'école très tôt, où ça ?\nÉlève des années passées\n",
    "ru": "Кошка увидела собаку. Привет, мир!\nСегодня хорошая погода.\n",
    "zh": "猫看见了一只狗。我今天去学校。\n你们好，今天天气很好。\n",
}


@pytest.mark.parametrize(
    ("language", "codec", "name"),
    [
        ("ko", "cp949", "CP949"),
        ("ko", "euc_kr", "CP949"),
        ("ko", "utf_16", "UTF-16"),
        ("ja", "shift_jis", "CP932"),
        ("ja", "euc_jp", "EUC-JP"),
        ("fr", "latin1", "CP1252"),
        ("ru", "cp1251", "CP1251"),
        ("ru", "koi8_r", "KOI8-R"),
        ("zh", "gb18030", "GB18030"),
        ("zh", "big5", "BIG5"),
    ],
)
def test_the_character_set_is_named(language: str, codec: str, name: str) -> None:
    content = ("plain words\n" + 20 * TEXTS[language]).encode(codec, "ignore")
    assert character_sets(content) == [name]
    assert f"iconv -f {name} -t UTF-8" in conversion(content)


def test_of_a_short_text_several_are_named() -> None:
    names = character_sets("고양이.\n".encode("cp949"))
    assert 1 < len(names) <= 3


def test_one_damaged_line_is_no_other_character_set() -> None:
    content = 3 * "é à\n".encode() + b"caf\xe9\n"
    assert conversion(content) == "convert it to UTF-8, or correct this line"


@pytest.mark.parametrize("codec", ["cp949", "euc_kr", "utf-16", "utf-32-be", "utf-8"])
def test_a_named_character_set_is_read(tmp_path: Path, codec: str) -> None:
    rows = [(f"the cat {number}", f"고양이 {number}") for number in range(9)]
    for name, mark in (("a.csv", ";"), ("b.tsv", "|")):
        text = "".join(f"{source}{mark}{target}\n" for source, target in rows)
        (tmp_path / name).write_bytes(text.encode(codec))
        corpus = Corpus(file=tmp_path / name, encoding=codec, delimiter=mark)
        assert [(pair.source, pair.target) for pair in read_pairs(corpus)] == rows
        columns = read_columns(corpus, corpus.report(), 4)
        assert [one for part in columns for one in part.targets] == [row[1] for row in rows]
    lines = TextCorpus(tmp_path / "a.csv", format="text", encoding=codec)
    assert [example.text for example in read_examples(lines)] == [";".join(row) for row in rows]


def test_the_line_that_is_not_in_the_named_character_set(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_bytes("가\n나\n".encode("cp949") + b"\xff\n")
    with pytest.raises(DataError, match=r"a\.txt, line 3: the text is not valid cp949"):
        list(read_lines(file, CorpusReport("a", encoding="cp949")))


def test_utf_16_has_to_begin_with_its_mark(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("plain text\n")
    with pytest.raises(DataError, match="the text is not valid utf-16"):
        list(read_lines(tmp_path / "a.txt", CorpusReport("a", encoding="utf-16")))


@pytest.mark.parametrize("name", ["nope", "hex", "rot13", ""])
def test_a_character_set_that_is_none(tmp_path: Path, name: str) -> None:
    (tmp_path / "a.txt").write_text("a\n")
    with pytest.raises(ConfigError, match="there is no such character set"):
        list(read_lines(tmp_path / "a.txt", CorpusReport("a", encoding=name)))
