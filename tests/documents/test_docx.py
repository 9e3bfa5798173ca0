"""Word documents, written and read back by python-docx."""

import io
import re
import tracemalloc
import zipfile

import docx
import pytest
from docx.oxml import OxmlElement, parse_xml
from docx.oxml.ns import nsdecls, qn
from lxml import etree

from benchmarks.shapes import packed
from jumok.documents.catalog import translate_document
from jumok.documents.segment import Translated
from jumok.errors import DataError
from tests.documents.helpers import by_words, same, texts

MATH = "http://schemas.openxmlformats.org/officeDocument/2006/math"


@pytest.fixture
def letter() -> bytes:
    """A heading, formats inside of a sentence, a tab, a break, a table, a header, a link."""
    document = docx.Document()
    document.add_heading("The title", 0)
    sentence = document.add_paragraph("I saw a ")
    sentence.add_run("black ").bold = True
    sentence.add_run("dog").bold = True  # cut in two, as spelling checkers do
    sentence.add_run(" today, and ")
    sentence.add_run("it").italic = True
    sentence.add_run(" ran.\tTab here")
    table = document.add_table(1, 2)
    table.cell(0, 0).text, table.cell(0, 1).text = "Cell one", "42"
    document.sections[0].header.paragraphs[0].text = "A header"
    document.add_paragraph("line one\nline two")
    linked = document.add_paragraph("See ")
    link = OxmlElement("w:hyperlink")
    link.set(qn("w:anchor"), "here")
    link.append(linked.add_run("our page")._r)
    linked._p.append(link)
    linked.add_run(" for more.")
    return saved(document)


def saved(document) -> bytes:
    buffer = io.BytesIO()
    document.save(buffer)
    return buffer.getvalue()


def runs(content: bytes) -> list[list[tuple[str, bool, bool]]]:
    """Of each paragraph its runs: text, bold, italic."""
    return [
        [(run.text, bool(run.bold), bool(run.italic)) for run in each.runs]
        for each in docx.Document(io.BytesIO(content)).paragraphs
    ]


def test_a_paragraph_is_a_text_and_tabs_and_breaks_end_it(letter: bytes) -> None:
    assert texts(letter, "docx") == [
        *("The title", "I saw a black dog today, and it ran.", "Tab here", "Cell one"),
        *("line one", "line two", "See our page for more.", "A header"),
    ]


def test_what_is_not_changed_stays_to_the_byte(letter: bytes) -> None:
    old, new = (zipfile.ZipFile(io.BytesIO(each)) for each in (letter, same(letter, "docx")))
    assert old.namelist() == new.namelist()
    assert all(old.read(name) == new.read(name) for name in old.namelist())


def test_capitals_keep_every_format(letter: bytes) -> None:
    written = translate_document(letter, lambda all: [text.upper() for text in all], "docx")
    document = docx.Document(io.BytesIO(written))
    assert runs(written)[:3] == [
        [("THE TITLE", False, False)],
        [
            *(("I SAW A ", False, False), ("BLACK DOG", True, False)),
            *((" TODAY, AND ", False, False), ("IT", False, True), (" RAN.", False, False)),
            *(("\t", False, False), ("TAB HERE", False, False)),
        ],
        [("LINE ONE", False, False), ("\n", False, False), ("LINE TWO", False, False)],
    ]
    assert [cell.text for cell in document.tables[0].rows[0].cells] == ["CELL ONE", "42"]
    assert document.sections[0].header.paragraphs[0].text == "A HEADER"
    assert document.paragraphs[3].text == "SEE OUR PAGE FOR MORE."
    (link,) = document.paragraphs[3].hyperlinks
    assert (link.text, link.fragment) == ("OUR PAGE", "here")


def test_formats_go_with_their_words(letter: bytes) -> None:
    first = "I saw a black dog today, and it ran."
    table = {text: Translated(text) for text in texts(letter, "docx")}
    table[first] = Translated(
        "오늘 검은 개를 봤고 그것은 달렸다.",
        [(1, 3), (3, 1), (4, 2), (5, 0), (7, 4), (8, 5)],
    )
    table["See our page for more."] = Translated(
        "더 보려면 우리 쪽을 보라.", [(0, 4), (1, 2), (2, 3), (3, 1), (4, 0)]
    )
    written = translate_document(letter, by_words(table), "docx")
    assert runs(written)[1][:5] == [
        *(("오늘 ", False, False), ("검은 개를", True, False), (" 봤고 ", False, False)),
        *(("그것은", False, True), (" 달렸다.", False, False)),
    ]
    linked = docx.Document(io.BytesIO(written)).paragraphs[3]
    assert linked.text == "더 보려면 우리 쪽을 보라."
    assert linked.hyperlinks[0].text == "우리 쪽을"


def test_a_footnote_mark_stays_beside_its_word() -> None:
    document = docx.Document()
    sentence = document.add_paragraph("One word")
    mark = OxmlElement("w:footnoteReference")
    mark.set(qn("w:id"), "2")
    run = sentence.add_run()
    run._r.append(mark)
    sentence.add_run(" and more")
    table = {"One word and more": Translated("mehr und ein Wort", [(0, 2), (1, 3), (2, 1), (3, 0)])}
    written = translate_document(saved(document), by_words(table), "docx")
    (paragraph,) = docx.Document(io.BytesIO(written)).paragraphs
    assert paragraph.text == "mehr und ein Wort"
    assert len(list(paragraph._p.iter(qn("w:footnoteReference")))) == 1
    assert paragraph._p[-1].find(qn("w:footnoteReference")) is not None


def test_content_controls_and_fields_are_translated_apart() -> None:
    document = docx.Document()
    sentence = document.add_paragraph("Before ")
    field = OxmlElement("w:fldSimple")
    field.set(qn("w:instr"), "REF x")
    field.append(sentence.add_run("inside")._r)
    sentence._p.append(field)
    sentence.add_run(" after")
    content = saved(document)
    assert texts(content, "docx") == ["Before", "inside", "after"]
    written = translate_document(content, lambda all: [text.upper() for text in all], "docx")
    with zipfile.ZipFile(io.BytesIO(written)) as archive:
        xml = archive.read("word/document.xml").decode()
    assert xml.index("BEFORE ") < xml.index('w:instr="REF x"') < xml.index("INSIDE")
    assert " AFTER" in xml


@pytest.mark.parametrize("place", [0, 0.3, 0.6, 0.99])
def test_a_damaged_document_is_refused_before_it_is_translated(letter: bytes, place) -> None:
    """Whatever part of it is damaged: also those that are only copied."""
    at = int(place * (len(letter) - 1))
    for value in (0, 9, 255):
        damaged = bytearray(letter)
        damaged[at : at + 40] = bytes([value]) * len(damaged[at : at + 40])
        with pytest.raises(DataError, match="not readable as DOCX"):
            texts(bytes(damaged), "docx")


def test_a_locked_document_and_another_archive_are_refused(letter: bytes) -> None:
    locked = bytearray(letter)
    central = locked.index(b"PK\x01\x02")
    locked[central + 8] |= 1
    with pytest.raises(DataError, match="encrypted"):
        texts(bytes(locked), "docx")
    other = io.BytesIO()
    with zipfile.ZipFile(other, "w") as archive:
        archive.writestr("a.txt", "the cat")
    with pytest.raises(DataError, match=r"no word/document\.xml"):
        texts(other.getvalue(), "docx")


def test_an_entity_is_not_followed(tmp_path) -> None:
    (tmp_path / "secret").write_text("secret")
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(
            "word/document.xml",
            f'<!DOCTYPE a [<!ENTITY x SYSTEM "file://{tmp_path}/secret">]><w:document xmlns:w='
            '"http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body><w:p><w:r>'
            "<w:t>word &x;</w:t></w:r></w:p></w:body></w:document>",
        )
    assert "secret" not in "".join(texts(buffer.getvalue(), "docx"))


def test_a_bomb_is_not_unpacked() -> None:
    content = packed("<a>" + " " * (80 << 20) + "</a>")
    with pytest.raises(DataError, match="it unpacks to 83,886,0"):
        texts(content, "docx")


def test_no_more_of_a_member_is_unpacked_than_the_archive_says() -> None:
    content = packed(" " * 50_000_000)
    content = content.replace((50_000_000).to_bytes(4, "little"), (5_000).to_bytes(4, "little"))
    tracemalloc.start()
    with pytest.raises(DataError, match="is damaged"):
        texts(content, "docx")
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 20_000_000


BESIDE = {
    '<w:bookmarkStart w:id="5" w:name="x"/>|a dog|<w:bookmarkEnd w:id="5"/>': (
        '<w:bookmarkStart w:id="5" w:name="x"/>|개를|<w:bookmarkEnd w:id="5"/>'
    ),
    '<w:commentRangeStart w:id="0"/>|a dog|<w:commentRangeEnd w:id="0"/>': (
        '<w:commentRangeStart w:id="0"/>|개를|<w:commentRangeEnd w:id="0"/>'
    ),
    '<w:moveTo w:id="4">|a dog|</w:moveTo>': '<w:moveTo w:id="4">|개를|</w:moveTo>',
    '<w:del w:id="2"/>|a dog|': '<w:del w:id="2"/>|개를|',
    "<m:oMath/>|a dog|": "<m:oMath/>|개를|",
    '<w:fldSimple w:instr="PAGE">|3|</w:fldSimple>|a dog|': (
        '<w:fldSimple w:instr="PAGE">|3|</w:fldSimple>|개를|'
    ),
}
"""Within a sentence, where | is an end of a run, and what becomes of it."""


@pytest.mark.parametrize("inside", BESIDE)
def test_what_is_no_text_stays_beside_its_words(inside: str) -> None:
    def xml(text: str) -> str:
        parts = text.split("|")
        parts[1::2] = [f'<w:r><w:t xml:space="preserve">{one}</w:t></w:r>' for one in parts[1::2]]
        return "".join(parts)

    document = docx.Document()
    names = f'{nsdecls("w")} xmlns:m="{MATH}"'
    document.element.body.insert(
        0, parse_xml(f"<w:p {names}>{xml(f'|The cat saw |{inside}|.|')}</w:p>")
    )
    links = [(1, 0), (2, 2), (4, 1)]
    knows = by_words({"The cat saw a dog.": Translated("고양이는 개를 봤어요.", links)})
    written = docx.Document(io.BytesIO(translate_document(saved(document), knows, "docx")))
    (first, *_) = written.element.body
    written_as = etree.tostring(first, encoding="unicode")
    content = re.sub(r' xmlns:\w+="[^"]*"|</?w:[rt]\b[^>]*>', "", written_as)
    expected = BESIDE[inside].replace("|", "")
    assert content == f"<w:p>고양이는 {expected} 봤어요.</w:p>"
