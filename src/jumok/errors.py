"""jumok's exceptions.

Every failure that a user can cause raises a `JumokError` with the expected and the actual value,
the place and the way to correct it. The command line prints it and exits with code 2.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Location:
    """A place in the user's files. Lines are counted from 1, bytes from 0."""

    file: Path | str
    line: int | None = None
    byte: int | None = None

    def __str__(self) -> str:
        line = f", line {self.line}" if self.line is not None else ""
        byte = f", byte {self.byte}" if self.byte is not None else ""
        return f"{self.file}{line}{byte}"


class JumokError(Exception):
    """A failure that the user can understand and correct.

    Args:
        what: the problem in one sentence, without the place.
        expected: the correct form, unless `what` makes it clear.
        got: the actual value.
        do: the way to correct it.
        place: the file, line or byte.
        known: the name of the text in `web/words_faults.js` with which a page shows the error in
            the reader's language, and the numbers in it. Empty: a page shows the parts above.
    """

    exit_code = 2

    def __init__(
        self,
        what: str,
        *,
        expected: str | None = None,
        got: str | None = None,
        do: str | None = None,
        place: Location | None = None,
        known: tuple[str | int, ...] = (),
    ) -> None:
        self.what, self.expected, self.got, self.do, self.place = what, expected, got, do, place
        self.known = known
        super().__init__(str(self))

    def __str__(self) -> str:
        lines = [f"{self.place}: {self.what}" if self.place else self.what]
        if self.expected is not None:
            lines.append(f"  expected: {self.expected}")
        if self.got is not None:
            lines.append(f"  got:      {self.got}")
        if self.do is not None:
            lines.append(f"  do:       {self.do}")
        return "\n".join(lines)


class DataError(JumokError):
    """A file of text, pairs or images that cannot be read in the expected format."""


class ConfigError(JumokError):
    """A recipe, an override or an option that is invalid."""


class ModelError(JumokError):
    """Sizes, shapes or requests that the model does not support."""


class BundleError(JumokError):
    """A model folder or a checkpoint that is missing, damaged, unsafe, or from a newer jumok."""


class TrainingError(JumokError):
    """A training run that cannot continue."""


class MissingExtraError(JumokError):
    """A feature whose optional package is not installed."""

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(
            f"{feature} needs the extra {extra!r}, which is not installed.",
            do=f'pip install "jumok[{extra}]"',
        )


@contextmanager
def optional_import(feature: str, extra: str) -> Iterator[None]:
    """The context of an import of an optional package; its error names the extra to install.

    Args:
        feature: the purpose of the package, such as "reading TMX files".
        extra: the extra of jumok that installs it.

    Raises:
        MissingExtraError: an import in the block failed.
    """
    try:
        yield
    except ImportError as error:
        raise MissingExtraError(feature, extra) from error
