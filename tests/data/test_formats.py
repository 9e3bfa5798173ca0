"""Files that are not plain sentences are known, named, and refused with what to do."""

import gzip
import io
import zipfile
from pathlib import Path

import pytest

from jumok.data.files.formats import kind_of
from jumok.data.files.reading import read_lines
from jumok.data.pairs.corpus import Corpus, read_pairs
from jumok.data.pairs.pair import Pair
from jumok.data.texts.corpus import TextCorpus, read_examples
from jumok.errors import DataError

TMX = '<?xml version="1.0"?>\n<!-- made -->\n<tmx version="1.4"><body></body></tmx>\n'
XLIFF = '<?xml version="1.0"?>\n<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff"></xliff>'
PO = '# comment\n#\nmsgid ""\nmsgstr ""\n"Language: ko\\n"\n'
SRT = "1\n00:00:01,000 --> 00:00:02,500\nHello.\n"


def zipped(*names: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name in names:
            archive.writestr(name, "x")
    return buffer.getvalue()


# What each file holds; its name says nothing.
CONTENTS: list[tuple[bytes, str | None]] = [
    (TMX.encode(), "tmx"),
    (b"\xef\xbb\xbf" + TMX.encode(), "tmx"),
    (XLIFF.encode(), "xliff"),
    (PO.encode(), "po"),
    (SRT.encode(), "srt"),
    (SRT.replace("\n", "\r\n").encode(), "srt"),
    (b"WEBVTT\n\n00:01.000 --> 00:02.000\nHi\n", "vtt"),
    (b"\n<!DOCTYPE html>\n<html>", "html"),
    (b"<!-- c --><HTML lang='en'>", "html"),
    (b'<?xml version="1.0"?><html xmlns="x">', "html"),
    (b'<?xml version="1.0"?><book>', "xml"),
    (b"%PDF-1.7\n", "pdf"),
    (b"{\\rtf1 x}", "rtf"),
    (b"\x89PNG\r\n\x1a\n....", "picture"),
    (b"\xff\xd8\xff\xe0", "picture"),
    (b"\x00\x00\x00\x18ftypheic", "picture"),
    (b"RIFF\x00\x00\x00\x00WEBPVP8 ", "picture"),
    (gzip.compress(b"text"), "gzip"),
    (b"\x28\xb5\x2f\xfd\x00", "zstd"),
    (b"BZh91AY&SY", "bzip2"),
    (b"\xfd7zXZ\x00\x00", "xz"),
    (zipped("[Content_Types].xml", "word/document.xml"), "docx"),
    (zipped("xl/workbook.xml"), "xlsx"),
    (zipped("a.txt"), "zip"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "doc"),
    ("hello".encode("utf-16"), "utf-16"),
    ("hello".encode("utf-16-le"), "utf-16"),
    ("猫が見た".encode("iso2022_jp"), "iso-2022"),
    ("hello".encode("utf-32"), "utf-32"),
    # Plain text that comes near.
    (b"I am a student.\n", None),
    (b"<s> I am a student. </s>\n", None),
    (b"1\nis a number --> this is not a cue\n", None),
    (b"msgid is a keyword\n", None),
    (b"BZh is no word\n", None),
    (b"PK is short\n", None),
    (b"#\n# a heading\n", None),
    (b"WEBVTTs\n", None),
    (b"\xef\xbb\xbfbyte order mark\n", None),
    (b"", None),
]


# Archives hold the time at which they were made, so their bytes are no names for tests.
@pytest.mark.parametrize(
    ("content", "kind"), CONTENTS, ids=[f"{n}-{kind}" for n, (_, kind) in enumerate(CONTENTS)]
)
def test_a_file_is_known_by_its_first_bytes(content: bytes, kind: str | None) -> None:
    assert kind_of(Path("sentences.en"), content) == kind


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("a.tmx", b"hello", "tmx"),
        ("a.tmx.gz", b"hello", "tmx"),
        ("a.XLF", b'<?xml version="1.0"?><file>', "xliff"),
        ("a.tsv", b"a\tb", "tsv"),
        ("a.docx", zipped("a"), "docx"),
        ("notes.doc", b"plain lines", None),  # every binary kind has a signature
        ("notes.pdf", b"plain lines", None),
        ("a.html", TMX.encode(), "tmx"),  # bytes say more than a name
        ("a.en", b"hello", None),
        ("README", b"hello", None),
    ],
)
def test_where_the_bytes_leave_it_open_the_name_says(
    name: str, content: bytes, kind: str | None
) -> None:
    assert kind_of(Path(name), content) == kind


def test_a_translation_memory_is_not_trained_on_as_text(tmp_path: Path) -> None:
    file = tmp_path / "my.tmx"
    file.write_text(TMX)
    with pytest.raises(DataError) as caught:
        list(read_pairs(Corpus(file, file)))
    assert str(caught.value) == (
        f"{file}: this is a translation memory (TMX), not plain text in UTF-8.\n"
        "  do:       train, evaluate, score and align read it as "
        f"--data {file} --from en --to fr; jumok translate translates it as a document; "
        "if these are plain lines nevertheless: "
        'format = "text" in a recipe, --format lines of translate, or another name'
    )


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_markup_is_known_inside_of_compressed_files(tmp_path: Path, suffix: str) -> None:
    file = tmp_path / f"sentences.en{suffix}"
    file.write_bytes(gzip.compress(PO.encode()) if suffix else PO.encode())
    with pytest.raises(DataError, match=r"this is a translation catalog \(PO\)"):
        list(read_examples(TextCorpus(file)))


def test_whoever_insists_reads_markup_as_lines(tmp_path: Path) -> None:
    file = tmp_path / "a.srt"
    file.write_text("one\ntwo\n")
    assert list(read_pairs(Corpus(file, file, format="text"))) == [
        Pair("one", "one", 1),
        Pair("two", "two", 2),
    ]
    assert [each.text for each in read_examples(TextCorpus(file, format="text"))] == ["one", "two"]


def test_a_table_in_utf16_is_told_how_to_become_utf8(tmp_path: Path) -> None:
    file = tmp_path / "a.tsv"
    file.write_bytes("a\tb\n".encode("utf-16"))
    with pytest.raises(DataError) as caught:
        list(read_pairs(Corpus(file=file)))
    assert str(caught.value) == (
        f"{file}: this is text in UTF-16, not plain text in UTF-8.\n"
        "  do:       name it, --encoding utf-16, or convert it: "
        f"iconv -f UTF-16 -t UTF-8 {file} > FILE.txt"
    )


def test_a_word_document_is_named_whatever_is_asked_of_it(tmp_path: Path) -> None:
    file = tmp_path / "book.docx"
    file.write_bytes(zipped("[Content_Types].xml", "word/document.xml"))
    with pytest.raises(DataError, match=r"this is a Word document \(DOCX\)"):
        list(read_lines(file))
