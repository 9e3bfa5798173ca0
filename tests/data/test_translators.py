import gzip
from pathlib import Path

import pytest

from jumok.data.pairs.corpus import Corpus, read_pairs
from jumok.data.pairs.pair import Pair
from jumok.data.report import CorpusReport
from jumok.errors import ConfigError, DataError, MissingExtraError
from tests.missing import uninstall

TMX = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE tmx SYSTEM "tmx14.dtd">
<tmx version="1.4"><header srclang="en"/><body>
<tu><tuv xml:lang="en-GB"><seg>Press <bpt i="1">&lt;b&gt;</bpt>Save<ept i="1">&lt;/b&gt;</ept>
now</seg></tuv><tuv xml:lang="ko"><seg>지금 <hi>저장</hi>을 누르세요</seg></tuv></tu>
<tu><tuv xml:lang="en"><seg>only English</seg></tuv></tu>
<tu><tuv lang="KO"><seg>물 &amp; 불</seg></tuv><tuv lang="EN"><seg>water &amp; fire</seg></tuv></tu>
</body></tmx>
"""


def tmx(file: Path) -> Corpus:
    return Corpus(file=file, source_column="en", target_column="ko")


@pytest.mark.parametrize("name", ["a.tmx", "a.tmx.gz"])
def test_tmx_gives_the_variants_in_two_languages(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    file.write_bytes(gzip.compress(TMX.encode()) if name.endswith("gz") else TMX.encode())
    report = CorpusReport("a")
    assert list(read_pairs(tmx(file), report)) == [
        Pair("Press Save now", "지금 저장을 누르세요", 4),
        Pair("water & fire", "물 & 불", 7),
    ]
    assert report.dropped["no variant in en and ko"].first == [6]


def test_tmx_does_not_read_the_files_that_entities_name(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    file = tmp_path / "a.tmx"
    entity = f'<!DOCTYPE tmx [<!ENTITY x SYSTEM "file://{tmp_path}/secret">]>'
    file.write_text(
        f'{entity}<tmx><tu><tuv lang="en"><seg>a&x;b</seg></tuv>'
        '<tuv lang="ko"><seg>c</seg></tuv></tu></tmx>'
    )
    assert [pair.source for pair in read_pairs(tmx(file))] == ["ab"]


def test_tmx_names_the_line_where_it_is_malformed(tmp_path: Path) -> None:
    file = tmp_path / "a.tmx"
    file.write_text(TMX[: TMX.index("only")])
    with pytest.raises(DataError) as caught:
        list(read_pairs(tmx(file)))
    assert str(caught.value).startswith(f"{file}, line 6: the file is not well-formed TMX.")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp949"])
def test_damaged_units_of_tmx_are_skipped_when_asked(tmp_path: Path, encoding: str) -> None:
    def unit(source: str, target: str) -> str:
        return (
            f'<tu><tuv xml:lang="en"><seg>{source}</seg></tuv>\n'
            f'<tuv xml:lang="ko"><seg>{target}</seg></tuv></tu>\n'
        )

    units = [
        unit("a cat", "고양이"), unit("x &#x1F; y", "z"), unit("a & b", "c"), "<tu><tuv>",
        unit("a dog", "개"), unit("<b>q", "r"), unit("the end &amp;", "끝"),
    ]  # fmt: skip
    name = encoding.removesuffix("-sig")
    file = tmp_path / "a.tmx"
    head = f'<?xml version="1.0" encoding="{name}"?>\n<tmx><header srclang="en"/><body>\n'
    file.write_bytes((head + "".join(units) + "</body></tmx>").encode(encoding))
    report = CorpusReport("a", skip_damaged=True)
    pairs = [(pair.source, pair.target) for pair in read_pairs(tmx(file), report)]
    assert pairs == [("a cat", "고양이"), ("a dog", "개"), ("the end &", "끝")]
    assert report.dropped["the unit is not well-formed TMX"].first == [5, 7, 11]
    with pytest.raises(DataError, match="--skip-damaged"):
        list(read_pairs(tmx(file), CorpusReport("a")))


def test_tmx_cut_short_inside_gzip_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "a.tmx.gz"
    file.write_bytes(gzip.compress(TMX.encode())[:-20])
    with pytest.raises(DataError, match="the compressed file is damaged or truncated"):
        list(read_pairs(tmx(file)))


def test_tmx_wants_language_codes(tmp_path: Path) -> None:
    file = tmp_path / "a.tmx"
    file.write_text(TMX)
    with pytest.raises(ConfigError, match="which language is the source") as raised:
        list(read_pairs(Corpus(file=file)))
    assert "the languages in it: en-gb, ko" in str(raised.value)
    assert "--from en-gb --to ko" in str(raised.value)


def test_tmx_without_the_languages_names_those_in_it(tmp_path: Path) -> None:
    file = tmp_path / "a.tmx"
    file.write_text(TMX)
    with pytest.raises(ConfigError, match="no unit has a text in both en and de") as raised:
        list(read_pairs(Corpus(file=file, source_column="en", target_column="de")))
    assert "the languages in it: en-gb, ko, en" in str(raised.value)


def test_tmx_without_units_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "a.tmx"
    file.write_text("<tmx><body/></tmx>")
    with pytest.raises(DataError, match="there are no translation units in it"):
        list(read_pairs(tmx(file)))


PO = r"""
msgid ""
msgstr ""
"Content-Type: text/plain; charset=UTF-8\n"

#: main.c:5
msgid ""
"Open the "
"file"
msgstr "파일 열기"

#, fuzzy
msgid "Close"
msgstr "열기"

msgid "Save"
msgstr ""

msgid "one day"
msgid_plural "%d days"
msgstr[0] "하루\n지나"

#~ msgid "old"
#~ msgstr "옛"
"""


def test_po_gives_what_is_translated_and_counts_the_rest(tmp_path: Path) -> None:
    file = tmp_path / "a.po"
    file.write_text(PO)
    report = CorpusReport("a")
    assert list(read_pairs(Corpus(file=file), report)) == [
        Pair("Open the file", "파일 열기", 6),
        Pair("one day", "하루 지나", 19),
    ]
    assert report.dropped["fuzzy or untranslated"].lines == 2
    assert report.read == 2  # the two the reader left out; the store counts what it is given


@pytest.mark.parametrize(
    ("tail", "line"),
    [('msgid "a', 26), ('msgid "a"\nmsgid "b"\n', 27), ("<html>\n", 26)],
)
def test_po_names_the_line_where_it_is_malformed(tmp_path: Path, tail: str, line: int) -> None:
    file = tmp_path / "a.po"
    file.write_text(PO + "\n" + tail)
    with pytest.raises(DataError) as caught:
        list(read_pairs(Corpus(file=file)))
    assert str(caught.value).startswith(f"{file}, line {line}: the file is not well-formed PO.")


def test_po_that_is_not_utf8_is_not_guessed_at(tmp_path: Path) -> None:
    file = tmp_path / "a.po"
    file.write_bytes(b'msgid "a"\nmsgstr "\xe9"\n')
    with pytest.raises(DataError, match="line 2, byte 18: the text is not valid UTF-8"):
        list(read_pairs(Corpus(file=file)))


@pytest.mark.parametrize(
    ("module", "name", "what"),
    [("lxml", "a.tmx", "TMX"), ("translate", "a.po", "PO")],
)
def test_translators_formats_ask_for_their_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str, name: str, what: str
) -> None:
    uninstall(monkeypatch, module)
    (tmp_path / name).write_text("x", "utf-8")
    with pytest.raises(MissingExtraError, match=f"reading {what} files needs the extra 'formats'"):
        list(read_pairs(tmx(tmp_path / name)))


XLIFF_2 = """<xliff xmlns="urn:oasis:names:tc:xliff:document:2.0" version="2.0"
srcLang="en" trgLang="ko">
<file id="f"><unit id="1"><segment><source>Press <pc id="1">Save</pc> now<ph id="2"/></source>
<target>지금 <pc id="1">저장</pc>을 누르세요</target></segment>
<segment state="initial"><source>a</source><target>a</target></segment>
<segment><source>b</source></segment></unit></file></xliff>
"""


@pytest.mark.parametrize(("source", "exchanged"), [("en", False), ("ko", True), (0, False)])
def test_xliff_gives_what_is_translated(tmp_path: Path, source: str | int, exchanged: bool) -> None:
    file = tmp_path / "a.xlf"
    file.write_text(XLIFF_2, encoding="utf-8")
    target = {"en": "ko", "ko": "en", 0: 1}[source]
    report = CorpusReport("a")
    (pair,) = read_pairs(Corpus(file=file, source_column=source, target_column=target), report)
    sides = ("Press Save now", "지금 저장을 누르세요")
    assert (pair.source, pair.target) == (sides[::-1] if exchanged else sides)
    assert report.dropped["without a translation"].lines == 2


def test_xliff_names_the_line_where_it_is_malformed(tmp_path: Path) -> None:
    file = tmp_path / "a.xlf"
    file.write_text(XLIFF_2[: XLIFF_2.index("initial")], encoding="utf-8")
    with pytest.raises(DataError, match=r"line 5: the file is not well-formed XLIFF"):
        list(read_pairs(Corpus(file=file)))


def test_po_is_turned_round_where_its_language_is_the_source(tmp_path: Path) -> None:
    file = tmp_path / "a.po"
    file.write_text(
        'msgid ""\nmsgstr "Language: ko_KR\\n"\n\nmsgid "water"\nmsgstr "물"\n', "utf-8"
    )
    for source, target, sides in (("en", "ko", ("water", "물")), ("ko", "en", ("물", "water"))):
        (pair,) = read_pairs(Corpus(file=file, source_column=source, target_column=target))
        assert pair[:2] == sides
