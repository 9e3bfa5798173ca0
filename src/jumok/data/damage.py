"""Libraries that read files fail in their own ways; here that becomes one that names the file."""

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from jumok.errors import DataError, Place

ANYTHING = (
    *(ValueError, TypeError, LookupError, AttributeError, ArithmeticError, AssertionError),
    *(RecursionError, NotImplementedError, EOFError, OSError, SyntaxError, struct.error),
)
"""What a parser that was not written for damaged files raises on them. A missing memory, an
interrupt and errors of jumok's own are none of these."""


def damaged(file: Path | str, kind: str, error: Exception) -> DataError:
    """What to raise when a library failed with `error` on a file that should be of this kind."""
    said = str(error).split("\n")[0][:200]
    return DataError(
        f"The file cannot be read as {kind}: it is damaged, or of another kind.",
        got=f"{type(error).__name__}: {said}" if said else type(error).__name__,
        do="make or download it again",
        place=Place(file),
    )


@contextmanager
def reading_as(kind: str, file: Path | str) -> Iterator[None]:
    """Around what a library reads of a file, and around nothing else.

    Raises:
        DataError: the library failed.
    """
    try:
        yield
    except ANYTHING as error:
        raise damaged(file, kind, error) from error
