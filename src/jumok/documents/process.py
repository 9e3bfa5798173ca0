"""A process that reads the documents of strangers: `python -m jumok.documents.process`.

It takes questions on stdin and answers them on stdout, as frames: a length, and JSON. It keeps
nothing from one question to the next, so it can be killed whatever a document makes it do.
"""

import json
import os
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

try:
    import resource
except ImportError:  # Windows has none
    resource = None  # type: ignore[assignment]

from jumok.data.files.formats import HEAD
from jumok.documents.catalog import document_format, read_document, translate_document
from jumok.documents.document import Languages
from jumok.documents.segment import Translated, WordLinks
from jumok.errors import JumokError

MOST_MEMORY = 1 << 30
"""Bytes that documents may take, where the system limits a process (Linux)."""

MOST_SECONDS = 10
"""Processor time for one question, where the system limits them (not on Windows)."""

LENGTH_BYTES = 8
"""The bytes of a frame's length."""

NICENESS = 5
"""Added to the niceness of the process: the server that answers goes first."""


@dataclass(frozen=True)
class DocumentQuestion:
    """What is asked of the process; JSON can hold it.

    Attributes:
        contents: documents: the bytes of files as Latin-1, or texts with HTML in them.
        languages: of source and target.
        name: of the files, which tells their format; None: they are texts.
        translations: of the texts of all documents, each with its links; None: the texts are asked
            for.
    """

    contents: Sequence[str]
    languages: Sequence[str]
    name: str | None = None
    translations: Sequence[tuple[str, WordLinks | None]] | None = None

    @property
    def _languages(self) -> Languages:
        return Languages(*self.languages)

    def texts(self) -> list[list[str]]:
        """The texts of each document."""
        return [
            [segment.text for segment in document.segments if segment.text]
            for document in (
                read_document(*each, self._languages, self.name or "") for each in self._documents()
            )
        ]

    def written(self) -> list[str]:
        """Each document with its translations, as in `contents`."""
        rest = iter([Translated(text, links) for text, links in self.translations or ()])

        def next_ones(texts: list[str]) -> list[Translated]:
            return list(islice(rest, len(texts)))

        coding = "utf-8" if self.name is None else "latin-1"
        return [
            translate_document(
                content, next_ones, format, languages=self._languages, name=self.name or ""
            ).decode(coding)
            for content, format in self._documents()
        ]

    def _documents(self) -> Iterator[tuple[bytes | str, str]]:
        """Each document with its format."""
        for each in self.contents:
            if self.name is None:
                yield each, "html"
            else:
                content = each.encode("latin-1")
                yield content, document_format(Path(self.name), content[:HEAD]) or "paragraphs"


def as_frame(value: object) -> bytes:
    """A frame with this value."""
    content = json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")
    return len(content).to_bytes(LENGTH_BYTES) + content


def unframed(content: bytes) -> Any:
    """The value in a frame behind its length."""
    return json.loads(content.decode("utf-8", "surrogatepass"))


def answer_to(question: DocumentQuestion) -> dict[str, object]:
    """The frame's value: "answer", "refused" (the parts of an error) or "fault" (what kind)."""
    try:
        asked = question.texts if question.translations is None else question.written
        return {"answer": asked()}
    except JumokError as error:
        return {"refused": [error.what, error.expected, error.got]}
    except MemoryError:
        raise
    except Exception as error:  # its message may quote the document
        return {"fault": type(error).__name__}


def main() -> None:
    """Answers until stdin ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches it as well as the server
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # a library's messages are no answers
    if sys.platform == "linux":
        with suppress(OSError):  # a sandbox may forbid it
            os.nice(NICENESS)
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        limit = pages * resource.getpagesize() + MOST_MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    value: object = "ready"
    while True:
        answers.write(as_frame(value))
        answers.flush()
        length = int.from_bytes(sys.stdin.buffer.read(LENGTH_BYTES))
        if not length:
            return
        if resource is not None:  # the system ends it
            _, most = resource.getrlimit(resource.RLIMIT_CPU)
            resource.setrlimit(
                resource.RLIMIT_CPU, (int(time.process_time()) + MOST_SECONDS + 1, most)
            )
        value = answer_to(DocumentQuestion(**unframed(sys.stdin.buffer.read(length))))


if __name__ == "__main__":
    main()
