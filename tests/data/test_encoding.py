"""The advice for files that are not UTF-8 names their character set."""

import pytest

from jumok.data.files.encoding import character_sets, conversion

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
