"""What the bytes of a document are: its character set, its byte order mark, its line ends."""

import warnings
from pathlib import Path

import pytest

from jumok.documents.catalog import document_format
from jumok.errors import DataError
from tests.documents.helpers import same, texts, upper


@pytest.mark.parametrize("named", ["utf-16", "hex", "idna", "no-such"])
def test_html_that_names_what_it_cannot_be_in_is_in_utf8(named: str) -> None:
    page = f'<meta charset="{named}"><p>le café</p>'
    assert upper(page, "html") == page.replace("le café", "LE CAFÉ")


def test_a_tag_that_its_attribute_would_change_keeps_it() -> None:
    assert upper('<b"<f"" title="<n">">the cat', "html") == '&lt;B"<f"" title="<n">"&gt;THE CAT'


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


@pytest.mark.parametrize("named", ["no-such", "hex", "punycode"])
def test_po_that_names_no_character_set_is_refused(named: str) -> None:
    page = f'msgid ""\nmsgstr "Content-Type: text/plain; charset={named}\\n"\n\nmsgid "a"\n'
    with pytest.raises(DataError, match=rf"a character set that is not known\.\n  got: +{named}"):
        same(f'{page}msgstr ""\n', "po")


def test_a_character_set_that_only_lxml_knows_is_refused() -> None:
    page = '<?xml version="1.0" encoding="VISCII"?><xliff version="1.2"/>'
    with pytest.raises(DataError, match=r"the character set of the file is not known\."):
        same(page, "xliff")


def test_subtitles_without_a_cue_are_refused() -> None:
    cue = "1\n00:00:01,000 --> 00:00:02,000\nHello there\n"
    assert same(cue, "srt") == cue.encode()
    with pytest.raises(DataError, match="no cue that can be read"):
        same(cue.replace("\n", "\r"), "srt")
    assert same("WEBVTT\n", "vtt") == b"WEBVTT\n"


def test_text_in_another_character_set_is_refused_with_its_name() -> None:
    cue = "1\n00:00:01,000 --> 00:00:02,000\n고양이는 개를 봤어요\n"
    expected = r"line 3: the text is not valid UTF-8.*--encoding CP949"
    with pytest.raises(DataError, match=f"(?s){expected}"):
        same(cue.encode("cp949"), "srt")


def test_trados_writes_utf_16() -> None:
    unit = '<trans-unit id="1"><source>the cat</source></trans-unit>'
    page = f'<?xml version="1.0" encoding="utf-16"?><xliff><file>{unit}</file></xliff>'
    content = page.encode("utf-16")
    assert document_format(Path("a.sdlxliff"), content) == "xliff"
    assert ">the cat</target>" in same(content, "xliff").decode("utf-16")


@pytest.mark.parametrize("name", ["a.toml", "a.php", "a.jsonc", "a.sbv", "a.textile", "a.py"])
def test_a_format_that_is_not_read_is_refused_by_its_name(name: str) -> None:
    with pytest.raises(DataError, match="which cannot be translated as it is"):
        document_format(Path(name), b"the cat\n")


def test_quarto_is_markdown() -> None:
    assert document_format(Path("a.qmd"), b"# the cat\n") == "markdown"


def test_an_anchor_that_is_given_again_is_no_message_of_a_library() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert upper("a: &x cat\nb: &x dog\n", "yaml") == "a: &x CAT\nb: &x DOG\n"
