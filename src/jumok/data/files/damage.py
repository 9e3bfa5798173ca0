"""Errors of libraries that read files, as errors that name the file."""

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from jumok.errors import DataError, Location

ANYTHING = (
    *(ValueError, TypeError, LookupError, AttributeError, ArithmeticError, AssertionError),
    *(RecursionError, NotImplementedError, EOFError, OSError, SyntaxError, struct.error),
)
"""The exceptions that a parser may raise on damaged files."""


def damaged(file: Path | str, kind: str, error: Exception) -> DataError:
    """The error to raise when a library failed with `error` on a file of this kind."""
    message = str(error).split("\n")[0][:200]
    return DataError(
        f"the file cannot be read as {kind}: it is damaged, or of another format.",
        got=f"{type(error).__name__}: {message}" if message else type(error).__name__,
        do="create or download it again",
        place=Location(file),
    )


@contextmanager
def reading_as(kind: str, file: Path | str) -> Iterator[None]:
    """A context for the calls of a library that read a file.

    Raises:
        DataError: the library failed.
    """
    try:
        yield
    except ANYTHING as error:
        raise damaged(file, kind, error) from error
