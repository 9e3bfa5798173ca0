"""`jumok translate` of documents, as a person gives them."""

import gzip
import io
from pathlib import Path
from typing import get_args

import docx
import pytest

import jumok
from jumok.cli.options import Formats
from jumok.documents.catalog import FORMATS
from jumok.errors import ConfigError, DataError
from tests.cli.calls import call, fault
from tests.documents.test_formats import HTML, MARKDOWN, PO, SRT, XLIFF

FAST = ["--beam", "1", "--maximum-length", "6", "--threads", "1"]


@pytest.mark.parametrize(
    ("name", "content", "kept"),
    [
        (
            "a.html",
            HTML,
            ["<pre>keep me</pre>", 'href="x?a=1&amp;b=2"', "<code>jumok train</code>"],
        ),
        ("a.md", MARKDOWN, ["code = 1", "http://a.b/(c)", "title: x", "|---|---|"]),
        ("a.srt", SRT, ["00:00:01,000 --> 00:00:02,500", "{\\an8}"]),
        ("a.po", PO, ['msgid "Done"\nmsgstr "done"', "nplurals=1", "%d", "{name}", "fuzzy"]),
        ("a.xlf", XLIFF, ["<source>done</source><target>d</target>", 'g id="1"', "<x id=", "zzz"]),
    ],
)
def test_a_document_is_translated_and_keeps_what_is_no_text(
    tmp_path: Path, tiny_bundle: Path, name: str, content: str, kept: list[str]
) -> None:
    file, output = tmp_path / name, tmp_path / f"ko.{name}"
    file.write_text(content, encoding="utf-8")
    result = call("translate", tiny_bundle, file, "--output", output, *FAST)
    assert result.exit_code == 0, result.output
    written = output.read_text(encoding="utf-8")
    assert written != content
    for each in kept:
        assert each in written
    assert call("translate", tiny_bundle, file, *FAST).stdout == written


def test_a_word_document_needs_an_output(tmp_path: Path, tiny_bundle: Path) -> None:
    file, output = tmp_path / "a.docx", tmp_path / "b.docx"
    document = docx.Document()
    document.add_paragraph("the cat and ").add_run("the dog").bold = True
    document.save(file)
    error = fault("translate", tiny_bundle, file, *FAST)
    assert isinstance(error, ConfigError)
    assert "add --output FILE.docx" in str(error)
    error = fault("translate", tiny_bundle, file, "--output", tmp_path / "b.pdf", *FAST)
    assert "the output has the format of the input document" in str(error)
    assert call("translate", tiny_bundle, file, "--output", output, *FAST).exit_code == 0
    assert docx.Document(output).paragraphs[0].text != "the cat and the dog"


def test_lines_stay_lines_unless_paragraphs_are_asked_for(tmp_path, tiny_bundle):
    file = tmp_path / "a.txt"
    file.write_text("the cat\nsaw\n\nthe dog\n", encoding="utf-8")
    assert len(call("translate", tiny_bundle, file, *FAST).stdout.splitlines()) == 4
    joined = call("translate", tiny_bundle, file, "--format", "paragraphs", *FAST).stdout
    once = call("translate", tiny_bundle, *FAST, given="the cat saw\n").stdout
    assert " ".join(joined.split("\n\n")[0].split()) == " ".join(once.split())


def test_wrapped_lines_that_are_translated_one_by_one_are_told(tmp_path, tiny_bundle):
    file = tmp_path / "book.txt"
    file.write_text("the cat saw\nthe student.\n\nthe cat saw it.\n")
    result = call("translate", tiny_bundle, file, *FAST)
    assert f"note: the lines of {file} seem to be wrapped" in result.stderr
    assert len(result.stdout.splitlines()) == 4
    quiet = call("translate", tiny_bundle, file, "--format", "lines", *FAST)
    assert "wrapped" not in quiet.stderr


def test_a_document_comes_from_standard_input_where_its_format_is_said(tiny_bundle: Path) -> None:
    out = call("translate", tiny_bundle, "--format", "html", *FAST, given="<p>the cat</p>").stdout
    assert out.startswith("<p>")
    assert out.endswith("</p>")


def test_the_option_names_every_format(tiny_bundle: Path) -> None:
    assert {*get_args(Formats)} == {"auto", "lines", *FORMATS}
    given = '{"a": "the cat"}'
    out = call("translate", tiny_bundle, "--format", "json", *FAST, given=given).stdout
    assert out.startswith('{"a": "')
    assert out != given


def test_markup_read_as_lines_is_what_somebody_asked_for(tmp_path: Path, tiny_bundle: Path) -> None:
    file = tmp_path / "a.srt"
    file.write_text(SRT, encoding="utf-8")
    out = call("translate", tiny_bundle, file, "--format", "lines", *FAST).stdout
    assert len(out.split("\n")) == len(SRT.split("\n"))


@pytest.mark.parametrize("option", ["--scores", "--alignments", "--json"])
def test_columns_are_for_lines(tmp_path: Path, tiny_bundle: Path, option: str) -> None:
    file = tmp_path / "a.html"
    file.write_text(HTML, encoding="utf-8")
    error = fault("translate", tiny_bundle, file, option, *FAST)
    assert "--resume need lines of text" in str(error)
    assert "got:      a document (html)" in str(error)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.pdf", b"%PDF-1.7\n", "this is a PDF, which cannot be translated as it is"),
        ("a.txt", "hello".encode("utf-16"), "iconv -f UTF-16 -t UTF-8"),
        ("a.tsv", b"a\tb\n", "this is a table (TSV)"),
        ("photo.en", b"\x89PNG\r\n\x1a\n", "this is a picture"),
    ],
)
def test_what_is_no_document_is_refused_by_name(tmp_path, tiny_bundle, name, content, said):
    file = tmp_path / name
    file.write_bytes(content)
    error = fault("translate", tiny_bundle, file, *FAST)
    assert isinstance(error, DataError)
    assert said in str(error)


def test_python_translates_files(tmp_path: Path, tiny_bundle: Path) -> None:
    model = jumok.load(tiny_bundle)
    file, output = tmp_path / "a.docx", tmp_path / "b.docx"
    document = docx.Document()
    document.add_paragraph("the cat")
    document.save(file)
    model.translate_file(file, str(output))
    best = model.translate(["the cat"])[0].text
    assert docx.Document(io.BytesIO(output.read_bytes())).paragraphs[0].text == best


def test_a_compressed_bomb_is_not_read(tmp_path: Path, tiny_bundle: Path) -> None:
    file = tmp_path / "a.html.gz"
    file.write_bytes(gzip.compress(b"<html>" + b" " * (80 << 20)))
    error = fault("translate", tiny_bundle, file, *FAST)
    assert isinstance(error, DataError)
    assert "unpacks to too many bytes" in str(error)


def test_several_files_and_folders_are_translated_into_a_folder(tmp_path, tiny_bundle) -> None:
    notes, out = tmp_path / "notes", tmp_path / "out"
    (notes / "sub").mkdir(parents=True)
    (tmp_path / "a.txt").write_text("the cat\n\n", "utf-8")
    (notes / "sub" / "page.md").write_text("# The cat\n\n`code`\n", "utf-8")
    (notes / ".hidden").write_text("x", "utf-8")
    files = ["translate", tiny_bundle, tmp_path / "a.txt", notes]
    done = call(*files, "--output", out, *FAST)
    assert done.exit_code == 0, done.output
    written = sorted(str(each.relative_to(out)) for each in out.rglob("*") if each.is_file())
    assert written == ["a.txt", "sub/page.md"]
    assert (out / "a.txt").read_text("utf-8").count("\n") == 2
    assert "\n\n`code`\n" in (out / "sub" / "page.md").read_text("utf-8")
    assert "several files need a folder" in str(fault(*files))
    assert "would replace an input" in str(fault(*files, "--output", notes))
    assert "would replace" in str(fault(*files, tmp_path / "a.txt", "--output", out))
    assert "there is no such file" in str(fault(*files, tmp_path / "none", "--output", out))


@pytest.mark.parametrize("codec", ["latin-1", "utf-16", "cp949"])
def test_text_in_a_named_character_set_becomes_utf8(
    tiny_bundle: Path, tmp_path: Path, codec: str
) -> None:
    cue = "1\r\n00:00:01,000 --> 00:00:02,000\r\nthe cat sat\r\n"
    for name, encoding in (("a.srt", "utf-8"), ("b.srt", codec)):
        (tmp_path / name).write_bytes(cue.encode(encoding))
    plain = call("translate", tiny_bundle, tmp_path / "a.srt", *FAST).stdout
    asked = call("translate", tiny_bundle, tmp_path / "b.srt", "--encoding", codec, *FAST)
    assert asked.stdout == plain
    page = tmp_path / "a.html"
    page.write_bytes("<html><p>the cat</p></html>".encode(codec))
    assert "names its character set itself" in str(
        fault("translate", tiny_bundle, page, "--encoding", codec)
    )
