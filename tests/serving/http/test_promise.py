"""Whoever asks, the answer is the same: Python, the command, the server, documents, both engines.

Lines of real and odd text (`random_texts`), a hundred, and thousands in the long form.
"""

import html
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from jumok.decoding.options import FOR_TRANSLATION
from jumok.systems.translation.translator import Translator
from tests.serving.http.random_texts import random_texts

OPTIONS = {"beam": 2, "maximum_length": 10}  # a model that nobody trained writes to the end
FLAGS = ["--beam", "2", "--maximum-length", "10"]
DECODING = replace(FOR_TRANSLATION, **OPTIONS)
PAIR = {"source": "en", "target": "ko"}
AT_ONCE = 50
Lines = tuple[list[str], list[str]]


@pytest.fixture(scope="module", params=[100, pytest.param(2000, marks=pytest.mark.nightly)])
def lines(request, folders) -> Lines:
    """The texts, and what Python makes of each by itself."""
    texts = random_texts(request.param, seed=request.param)
    alone = Translator.load(folders["en-ko"], device="cpu", threads=1)
    return texts, [alone.translate([text], DECODING)[0].text for text in texts]


def check(lines: Lines, found: Sequence[str]) -> None:
    texts, expected = lines
    assert len(found) == len(texts)
    rows = zip(texts, expected, found, strict=True)
    assert [row for row in rows if row[1] != row[2]] == []


def some(texts: Sequence[str]) -> Iterator[list[str]]:
    for start in range(0, len(texts), AT_ONCE):
        yield list(texts[start : start + AT_ONCE])


def said(*arguments: object, text: str | None = None) -> str:
    command = [sys.executable, "-m", "jumok", "translate", *map(str, arguments), *FLAGS]
    done = subprocess.run(
        command, input=None if text is None else text.encode(), capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.decode()


@pytest.mark.parametrize(("threads", "batch"), [(1, 32), (2, 7)])
def test_in_batches_and_threads(lines, folders, threads, batch):
    system = Translator.load(folders["en-ko"], device="cpu", threads=threads)
    check(lines, [each.text for each in system.translate(lines[0], DECODING, batch_size=batch)])


def test_on_torch(lines, folders):
    system = Translator.load(folders["en-ko"], device="cpu", engine="torch")
    check(lines, [each.text for each in system.translate(lines[0], DECODING)])


def test_the_command_with_a_file_and_with_a_stream(lines, folders, tmp_path):
    text = "".join(f"{line}\n" for line in lines[0])
    (tmp_path / "in.txt").write_text(text, "utf-8", newline="\n")
    written = said(folders["en-ko"], tmp_path / "in.txt", "--format", "lines")
    check(lines, written.removesuffix("\n").split("\n"))
    streamed = said(folders["en-ko"], "--stream", text=text)
    check(lines, streamed.removesuffix("\n").split("\n"))


def test_the_server(lines, client: httpx.Client):
    native, libre = [], []
    for texts in some(lines[0]):
        answer = client.post("/v1/translate", json={"text": texts, **OPTIONS}).json()
        native += [each["text"] for each in answer["answers"]]
        answer = client.post("/translate", json={"q": texts, **PAIR, **OPTIONS}).json()
        libre += answer["translatedText"]
    check(lines, native)
    check(lines, libre)


def test_documents(lines, folders, client: httpx.Client, tmp_path: Path):
    system = Translator.load(folders["en-ko"], device="cpu")
    page, written, found = tmp_path / "page.html", tmp_path / "written.html", []
    for texts in some(lines[0]):
        page.write_text("\n".join(f"<p>{html.escape(text)}</p>" for text in texts), "utf-8")
        system.translate_file(page, written, DECODING)
        here = written.read_text("utf-8")
        assert said(folders["en-ko"], page) == here
        files = {"file": ("page.html", page.read_bytes())}
        sent = client.post("/translate_file", data={**PAIR, **OPTIONS}, files=files).json()
        assert client.get(sent["translatedFileUrl"]).content == written.read_bytes()
        found += [html.unescape(each) for each in re.findall(r"<p>(.*?)</p>", here, re.DOTALL)]
    texts, expected = lines
    # White space around a paragraph, and how much of it, means nothing in HTML.
    check((texts, [line.split() for line in expected]), [each.split() for each in found])
