"""Documents of clients, read and written in a process that can be killed.

Whatever a file does to its reader, the server answers meanwhile, and the file's request ends at its
deadline. The process is started when it is first needed, and again after it was killed.
"""

import asyncio
import signal
import sys
import time
from asyncio.subprocess import DEVNULL, PIPE, Process
from contextlib import suppress
from dataclasses import asdict
from typing import Any

from jumok.documents.process import LENGTH_BYTES, MOST_SECONDS, DocumentQuestion, as_frame, unframed
from jumok.errors import DataError
from jumok.serving.http.monitoring import log
from jumok.serving.http.queue import deadline_passed
from jumok.serving.http.refusals import RequestRefused

MOST_GROWN = 8
"""An answer of the process may be larger than a request by this: it is read between requests."""


class DocumentReader:
    """The process, which reads the documents of one server one after the other.

    Args:
        most: questions that may wait for it.
        largest: bytes that a request may have.

    Attributes:
        process: None: it is not needed yet, or was killed.
    """

    def __init__(self, most: int, largest: int = 1 << 20) -> None:
        self._most, self._waiting, self._largest = most, 0, largest
        self._turn = asyncio.Lock()
        self.process: Process | None = None
        self._started: asyncio.Task[None] | None = None

    async def ask(self, question: DocumentQuestion, deadline: float) -> Any:
        """The answer of the process; if the caller is cancelled, it is killed.

        Args:
            deadline: of `time.monotonic`.

        Raises:
            DataError: the document cannot be read.
            RequestRefused: the deadline has passed; the document takes too much time or memory, or
                its reader failed; or too many wait.
        """
        if time.monotonic() >= deadline:
            raise deadline_passed()
        if self._waiting >= self._most:
            text = f"The queue of documents is full: the limit is {self._most}."
            raise RequestRefused(429, "queue_full", text, retry_after=1)
        self._waiting += 1
        try:
            async with asyncio.timeout(deadline - time.monotonic()), self._turn:
                await self._start()
                answer = await self._answered(as_frame(asdict(question)))
        except TimeoutError:
            raise deadline_passed() from None
        finally:
            self._waiting -= 1
        if "refused" in answer:
            what, expected, got = answer["refused"]
            raise DataError(what, expected=expected, got=got)
        if "fault" in answer:
            log({"event": "fault", "document": answer["fault"]})
            raise RequestRefused(500, "document_failed", "The document's reader failed at it.")
        return answer["answer"]

    def close(self) -> None:
        """Ends the process."""
        if self.process is not None:
            with suppress(ProcessLookupError):
                self.process.kill()
        self.process = self._started = None

    async def _start(self) -> None:
        """Waits until there is a process; a request that cannot wait so long does not end it."""
        if self.process is not None and self.process.returncode is not None:
            self.close()  # something else has killed it since
        if self._started is None:
            self._started = asyncio.create_task(self._begin())
        try:
            await asyncio.shield(self._started)
        except Exception:
            self._started = None
            raise

    async def _begin(self) -> None:
        command = sys.executable, "-m", DocumentQuestion.__module__
        self.process = await asyncio.create_subprocess_exec(
            *command,
            stdin=PIPE,
            stdout=PIPE,
            stderr=DEVNULL,  # a library's warnings quote the document
        )
        await self._frame(self.process)

    async def _answered(self, question: bytes) -> dict[str, Any]:
        process = self.process
        assert process is not None
        assert process.stdin is not None
        try:
            process.stdin.write(question)
            await process.stdin.drain()
            return await self._frame(process)
        except (EOFError, ConnectionError, RuntimeError):  # uvloop's, for a pipe that is closed
            self.close()
            slow = await process.wait() == -getattr(signal, "SIGXCPU", 0)
            what = (
                f"{MOST_SECONDS} seconds of the processor"
                if slow
                else "the memory that it may take"
            )
            text = f"The document takes more than {what}."
            raise RequestRefused(400, "document_too_complex", text) from None
        except asyncio.CancelledError:  # the deadline has passed, or the client has gone
            self.close()
            raise

    async def _frame(self, process: Process) -> Any:
        """Raises EOFError: the process has ended, or answers too much."""
        assert process.stdout is not None
        length = int.from_bytes(await process.stdout.readexactly(LENGTH_BYTES))
        if length > MOST_GROWN * self._largest:
            raise EOFError
        return unframed(await process.stdout.readexactly(length))
