"""No document holds the server up, and none is read beyond the limits."""

import asyncio
import sys
import time

import pytest

from benchmarks.hostile import documents, sent
from benchmarks.load import statuses
from benchmarks.mutated import faults_of
from benchmarks.shapes import packed
from jumok.documents.process import DocumentQuestion
from jumok.serving.http.documents import DocumentReader
from jumok.serving.http.refusals import RequestRefused
from tests.serving.http.process import serving
from tests.serving.http.test_files import sent as sent_file

RUN = "<w:r><w:t>cat </w:t><w:tab/></w:r>"
W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'


def word(inside: str) -> bytes:
    return packed(f"<w:document {W}><w:body><w:p>{inside}</w:p></w:body></w:document>")


def test_hostile_documents_are_answered_or_refused(folders, tmp_path):
    """The short form of `python -m benchmarks.hostile`."""
    with serving(tmp_path, f"en-ko={folders['en-ko']}", "--grace", "0") as server:
        answers, health = sent(server, documents(seed=2, count=20), seconds=5.0)
        assert {each.status for each in answers} <= {200, 400, 429, 504}
        assert len(answers) == 20
        assert set(statuses(health)) == {200}
        assert faults_of(server) == []


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (lambda: word(RUN * 4097), "at most 4096 texts, and this one has 4097"),
        (lambda: word(f"<w:r><w:t>{'word ' * 20_000}</w:t></w:r>"), "at most 16384 tokens"),
        (lambda: packed("<a>" + " " * (80 << 20) + "</a>"), "it unpacks to 83,886"),
        (lambda: packed("<a>" + " " * (65 << 20) + "</a>"), "its text has 68,157"),
        pytest.param(
            lambda: packed("<a>" + "<a/>" * (15 << 20) + "</a>"),
            "not readable as DOCX",
            marks=pytest.mark.skipif(sys.platform != "linux", reason="memory is not limited"),
        ),
    ],
)
def test_a_small_file_with_much_in_it_is_refused(client, made, text):
    content = made()
    assert len(content) < 1_000_000
    answer = sent_file(client, "a.docx", content)
    assert answer.status_code == 400
    assert text in answer.json()["error"]
    assert sent_file(client, "a.docx", word(RUN)).status_code == 200


def test_a_text_with_html_keeps_its_characters_whatever_it_says_of_them(client):
    body = {
        "q": '<meta charset="euc-kr"><p>the cat</p><!--\u9f98-->',
        "source": "en",
        "target": "ko",
    }
    answer = client.post("/translate", json=body | {"format": "html"}).json()
    assert answer["translatedText"].endswith("<!--\u9f98-->")


def test_a_process_that_was_killed_while_it_waited_is_started_again():
    """As the system does where memory is short; every later document got status 500."""
    short = DocumentQuestion(["the cat"], ("en", "ko"), "a.md")

    async def asked() -> None:
        reader = DocumentReader(most=1)
        for _ in range(2):
            assert await reader.ask(short, time.monotonic() + 60) == [["the cat"]]
            reader.process.kill()
            await reader.process.wait()
        reader.close()

    asyncio.run(asked())


def test_the_process_is_killed_at_the_deadline_and_another_one_reads_the_next_document():
    long = DocumentQuestion(["[a](b) " * 100_000], ("en", "ko"), "a.md")
    short = DocumentQuestion(["the cat"], ("en", "ko"), "a.md")

    async def asked() -> None:
        reader = DocumentReader(most=1)
        assert await reader.ask(short, time.monotonic() + 60) == [["the cat"]]
        first = reader.process
        with pytest.raises(RequestRefused) as refused:
            await reader.ask(long, time.monotonic() + 0.05)
        assert refused.value.status == 504
        assert await first.wait() < 0
        assert await reader.ask(short, time.monotonic() + 60) == [["the cat"]]
        waiting = asyncio.ensure_future(reader.ask(long, time.monotonic() + 60))
        await asyncio.sleep(0)
        with pytest.raises(RequestRefused, match="queue of documents is full"):
            await reader.ask(short, time.monotonic() + 60)
        second = reader.process
        waiting.cancel()  # its client has gone
        with pytest.raises(asyncio.CancelledError):
            await waiting
        reader.close()
        assert await second.wait() < 0

    asyncio.run(asked())


@pytest.mark.nightly
@pytest.mark.skipif(sys.platform == "win32", reason="time is not limited")
def test_a_document_that_takes_too_long_is_refused():
    long = DocumentQuestion(["[a]: b\n\n" + "[a](" * 250_000], ("en", "ko"), "a.md")

    async def asked() -> None:
        reader = DocumentReader(most=1)
        with pytest.raises(RequestRefused, match="more than 10 seconds of the processor"):
            await reader.ask(long, time.monotonic() + 600)

    asyncio.run(asked())
