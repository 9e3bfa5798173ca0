"""What the bytes of a document are: its character set, its byte order mark, its line ends."""

import pytest

from jumok.documents.catalog import translate_document
from jumok.documents.document import Languages
from jumok.errors import DataError
from tests.documents.helpers import same, texts, upper


@pytest.mark.parametrize("named", ["utf-16", "hex", "idna", "no-such"])
def test_html_that_names_what_it_cannot_be_in_is_in_utf8(named: str) -> None:
    page = f'<meta charset="{named}"><p>le café</p>'
    assert upper(page, "html") == page.replace("le café", "LE CAFÉ")


@pytest.mark.parametrize("format", ["markdown", "paragraphs", "html"])
def test_a_byte_order_mark_is_no_part_of_the_first_line(format: str) -> None:
    front = "---\ntitle: x\n---\n" if format == "markdown" else ""
    begin = f"\ufeff{front}# " if format == "markdown" else "\ufeff"
    assert texts(f"{begin}the cat\n", format) == ["the cat"]
    assert upper(f"{begin}the cat\n", format) == f"{begin}THE CAT\n"


def test_markdown_counts_a_lone_carriage_return_as_a_line_end() -> None:
    page = "# one\r\rtwo\rthree\r\nfour\n\n- five\r"
    assert same(page, "markdown") == page.encode()
    assert texts(page, "markdown") == ["one", "two three four", "five"]


def test_po_is_in_the_character_set_that_it_names() -> None:
    header = 'msgid ""\nmsgstr "Content-Type: text/plain; charset={}\\n"\n\n'
    entry = 'msgid "café"\nmsgstr ""\n'
    written = same(f"{header.format('ISO-8859-1')}{entry}".encode("latin-1"), "po")
    assert "café" in written.decode("latin-1")
    with pytest.raises(DataError, match="not in the character set that it names") as caught:
        same(f"{header.format('UTF-8')}{entry}".encode("latin-1"), "po")
    assert "line 4" in str(caught.value)


def test_subtitles_without_a_cue_are_refused() -> None:
    cue = "1\n00:00:01,000 --> 00:00:02,000\nHello there\n"
    assert same(cue, "srt") == cue.encode()
    with pytest.raises(DataError, match="no cue that can be read"):
        same(cue.replace("\n", "\r"), "srt")
    assert same("WEBVTT\n", "vtt") == b"WEBVTT\n"


@pytest.mark.parametrize("charset", ["utf-8", "euc-kr", "utf-16"])
def test_xml_keeps_its_character_set_and_every_other_byte(charset: str) -> None:
    """Characters of one, two and three bytes stand before the places that are filled in."""
    source = '<tuv xml:lang="ko"><seg>물</seg></tuv>'
    head = f'<?xml version="1.0" encoding="{charset}"?>\n<!-- 물 ± --><tmx><body>'
    unit = f"<tu>\n {source} </tu><!-- 불 -->"
    before = f"{head}{unit * 3}</body></tmx>"
    after = before.replace(source, f'{source}\n <tuv xml:lang="en"><seg>WATER</seg></tuv>')
    written = translate_document(
        before.encode(charset),
        lambda texts: ["WATER"] * len(texts),
        "tmx",
        languages=Languages("ko", "en"),
    )
    assert written.decode(charset) == after


def test_a_translation_outside_of_the_character_set_is_written_as_a_reference() -> None:
    unit = "<trans-unit><source>a</source></trans-unit>"
    page = f'<?xml version="1.0" encoding="us-ascii"?><xliff>{unit}</xliff>'
    written = translate_document(page.encode(), lambda _: ["é"], "xliff")
    assert b'<target state="needs-review-translation">&#233;</target>' in written


def test_cdata_is_translated_as_text() -> None:
    page = "<xliff><trans-unit><source><![CDATA[a <b> c]]></source></trans-unit></xliff>"
    assert texts(page, "xliff") == ["a <b> c"]
    assert ">A &lt;B&gt; C</target>" in upper(page, "xliff")
