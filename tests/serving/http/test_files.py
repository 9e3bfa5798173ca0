"""Documents come in, and their translations can be fetched."""

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager

import docx
import pytest

from jumok.errors import ConfigError
from jumok.serving.http.downloads import KEPT_SECONDS, Downloads
from jumok.serving.http.monitoring import Metrics
from jumok.serving.http.refusals import RequestRefused
from jumok.systems.translation.translator import Translator

SUBTITLES = """1
00:00:01,000 --> 00:00:02,000
the cat sat

2
00:00:03,000 --> 00:00:04,000
I am
"""


def sent(client, name: str, content: bytes, **fields: str):
    given = {"source": "en", "target": "ko"} | fields
    return client.post("/translate_file", data=given, files={"file": (name, content)})


def test_a_translated_file_is_that_of_the_command(client, folders, tmp_path):
    (tmp_path / "a.srt").write_text(SUBTITLES)
    translator = Translator.load(folders["en-ko"], device="cpu")
    translator.translate_file(tmp_path / "a.srt", tmp_path / "b.srt")
    answer = sent(client, "a.srt", SUBTITLES.encode())
    assert answer.status_code == 200, answer.text
    fetched = client.get(answer.json()["translatedFileUrl"])
    assert fetched.content == (tmp_path / "b.srt").read_bytes()
    assert fetched.headers["content-disposition"] == 'attachment; filename="a.srt"'


def test_documents_of_word_come_back_as_such(client):
    document = docx.Document()
    document.add_paragraph("the cat sat on the mat.")
    file = io.BytesIO()
    document.save(file)
    answer = sent(client, "../../a b.docx", file.getvalue(), source="auto")
    address = answer.json()["translatedFileUrl"]
    assert address.endswith(".a_b.docx")
    (paragraph,) = docx.Document(io.BytesIO(client.get(address).content)).paragraphs
    assert paragraph.text
    assert paragraph.text != "the cat sat on the mat."


@pytest.mark.parametrize(
    ("name", "content", "text"),
    [
        ("a.txt", b"", "missing file parameter"),
        ("a.docx", b"PK\x03\x04 no zip", "not readable as DOCX"),
        ("a.pdf", b"%PDF-1.7 text", "cannot be translated as it is"),
        ("a.txt", b"\xff\xfe\x00", "text in UTF-16"),
    ],
)
def test_files_that_cannot_be_read_are_refused(client, name, content, text):
    answer = sent(client, name, content)
    assert answer.status_code == 400, answer.text
    assert text in answer.json()["error"]


def test_names_in_any_script_are_read_as_clients_write_them(client):
    written = '; filename="\\"x.srt"', "; filename*=UTF-8''%EA%B0%80.srt", '; filename="가.srt"'
    for name in written:
        parts = [("source", "", "en"), ("target", "", "ko"), ("file", name, SUBTITLES)]
        body = "".join(
            f'--x y\r\nContent-Disposition: form-data; name="{field}"{name}\r\n\r\n{value}\r\n'
            for field, name, value in parts
        )
        kind = {"Content-Type": 'multipart/form-data; boundary="x y"'}
        answer = client.post("/translate_file", content=f"{body}--x y--".encode(), headers=kind)
        assert answer.status_code == 200, answer.text
        fetched = client.get(answer.json()["translatedFileUrl"])
        assert "00:00:03,000 --> 00:00:04,000" in fetched.text
        assert fetched.headers["content-disposition"].endswith('.srt"')


def test_other_files_of_the_machine_are_never_read(client):
    for name in ("../../../etc/passwd", "..%2f..%2fetc%2fpasswd", "a" * 22 + ".txt", "part-a.b"):
        assert client.get(f"/download_file/{name}").status_code == 404


def test_files_are_kept_for_some_minutes(tmp_path):
    downloads = Downloads(tmp_path)
    first = downloads.keep("a.txt", b"text")
    assert downloads.read(first) == b"text"
    long_ago = os.stat(tmp_path / first).st_mtime - KEPT_SECONDS - 1
    os.utime(tmp_path / first, (long_ago, long_ago))
    with pytest.raises(RequestRefused, match="There is no such file"):
        downloads.read(first)
    downloads.keep("b.txt", b"other")
    assert [file.suffix for file in tmp_path.iterdir()] == [".txt"]
    with pytest.raises(RequestRefused, match="disabled"):
        Downloads(None).keep("a", b"")


@contextmanager
def largest(size: int) -> Iterator[None]:
    """No file of this process grows beyond it, as on a full disk."""
    resource = pytest.importorskip("resource")
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, most))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))


def test_a_full_disk_refuses_a_file_and_keeps_no_part_of_it(tmp_path):
    with largest(100), pytest.raises(RequestRefused, match="no space") as refused:
        Downloads(tmp_path).keep("a.txt", b"x" * 1_000)
    assert refused.value.status == 503
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="the space is taken on Linux")
def test_metrics_that_could_not_be_kept_later_are_an_error_at_the_start(tmp_path):
    """Their files are mapped: a process that writes to them on a full disk gets SIGBUS."""
    with largest(100), pytest.raises(ConfigError, match="metrics"):
        Metrics(tmp_path)
