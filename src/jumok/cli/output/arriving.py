"""Input lines in batches; from a pipe, a batch ends where the writer pauses."""

import os
import queue
import stat
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Generic, TypeVar

from jumok.cli.output.streams import LONGEST_LINE, STANDARD, decoded, input_lines, is_typed
from jumok.data.files.formats import HEAD, check_text
from jumok.data.report import UTF8

AnyLine = TypeVar("AnyLine")

PAUSE = 0.05  # seconds without a further line, after which the writer waits for an answer
BLOCK, BLOCKS = 1 << 16, 64  # bytes that are read at once; the maximum of blocks that wait
MOST_PARTS = LONGEST_LINE // BLOCK  # a line of fewer blocks is never too long


@dataclass(frozen=True)
class ArrivingLines(Generic[AnyLine]):
    """Lines, plain or numbered.

    Attributes:
        is_ready: whether the next line, or the end, can be read without waiting for its writer.
    """

    lines: Iterator[AnyLine]
    is_ready: Callable[[], bool]

    def chunks(self, size: int) -> Iterator[list[AnyLine]]:
        """Lists of up to `size` lines, which end early where the next line is not ready."""
        while chunk := list(islice(self.lines, 1)):
            while len(chunk) < size and self.is_ready():
                more = list(islice(self.lines, 1))
                if not more:
                    break
                chunk += more
            yield chunk


def arriving(
    file: Path | None,
    *,
    alone: bool = False,
    whole: bool = False,
    plain: bool = True,
    encoding: str = UTF8,
) -> ArrivingLines[str]:
    """The lines of a file or of standard input.

    Args:
        alone: every line is a batch of its own, as for a user who types.
        whole: no batch ends at a pause, since the answers depend on the batch (samples do).
        plain: refuse markup, as `input_lines` does.
        encoding: the character set.
    """
    if alone or is_typed(file):
        return ArrivingLines(input_lines(file, plain=plain, encoding=encoding), lambda: False)
    if whole or file not in (None, STANDARD) or not _is_pipe() or encoding != UTF8:
        return ArrivingLines(input_lines(file, plain=plain, encoding=encoding), lambda: True)
    source = Arriving(sys.stdin.fileno())
    name = Path("standard input")
    lines = decoded(_checked_text(source, name, plain), name)
    return ArrivingLines(lines, lambda: source.is_ready(PAUSE))


def _checked_text(source: "Arriving", name: Path, plain: bool) -> Iterator[bytes]:
    """The lines; input that is not text is refused when the first line arrives."""
    for number, line in enumerate(source):
        if number == 0:
            check_text(name, source.head, plain=plain)
        yield line


def _is_pipe() -> bool:
    """Whether standard input comes from another process, which may wait for answers."""
    try:
        mode = os.fstat(sys.stdin.fileno()).st_mode
    except (AttributeError, OSError, ValueError):  # closed, or not a file of the system
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


class Arriving(Iterator[bytes]):
    """The lines of a pipe, with their line breaks.

    Attributes:
        head: the first bytes that arrived.
    """

    def __init__(self, descriptor: int) -> None:
        self._blocks: queue.Queue[bytes | OSError] = queue.Queue(BLOCKS)
        self._lines: deque[bytes] = deque()
        self._begun: list[bytes] = []
        self.head = b""
        self._fault: OSError | None = None
        self._ended = False
        # A thread, because Windows cannot report whether a pipe has something to read. It reads the
        # descriptor: waiting in Python's buffer holds a lock that the interpreter needs at its end.
        threading.Thread(target=self._read, args=(descriptor,), daemon=True).start()

    def __next__(self) -> bytes:
        self._wait(None)
        if self._lines:
            return self._lines.popleft()
        if self._fault is not None:
            raise self._fault
        raise StopIteration

    def is_ready(self, seconds: float) -> bool:
        """Whether a line, or the end, arrives within this many seconds."""
        return self._wait(time.monotonic() + seconds)

    def _wait(self, until: float | None) -> bool:
        while not self._lines and not self._ended:
            left = None if until is None else max(0.0, until - time.monotonic())
            try:
                block = self._blocks.get(timeout=left)
            except queue.Empty:
                return False
            self._take(block)
        return True

    def _take(self, block: bytes | OSError) -> None:
        if isinstance(block, OSError):
            self._fault, self._ended = block, True
            return
        if not block:
            self._ended = True
            if self._begun:
                self._lines.append(b"".join(self._begun))
            return
        self.head = self.head or block[:HEAD]
        *whole, rest = block.split(b"\n")
        for line in whole:
            self._lines.append(b"".join((*self._begun, line, b"\n")))
            self._begun.clear()
        if rest:
            self._begun.append(rest)
        if len(self._begun) > MOST_PARTS and sum(map(len, self._begun)) > LONGEST_LINE:
            # `decoded` refuses it
            self._lines.append(b"".join(self._begun))
            self._begun.clear()

    def _read(self, descriptor: int) -> None:
        try:
            while block := os.read(descriptor, BLOCK):
                self._blocks.put(block)
            self._blocks.put(b"")
        except OSError as error:
            self._blocks.put(error)
