"""What jumok says when something is not as it should be.

Every failure a person can cause raises a `JumokError`. It carries what was expected, what came
instead, where, and what to do; the command line prints it and exits with code 2.
"""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Place:
    """Where in the user's files something went wrong. Lines and bytes count from 1 and from 0."""

    file: Path | str
    line: int | None = None
    byte: int | None = None

    def __str__(self) -> str:
        line = f", line {self.line}" if self.line is not None else ""
        byte = f", byte {self.byte}" if self.byte is not None else ""
        return f"{self.file}{line}{byte}"


class JumokError(Exception):
    """A failure that the user can understand and mend.

    Args:
        what: what is wrong, in one sentence, without the place.
        expected: what would have been right, if that is not plain from `what`.
        got: what came instead.
        do: what to do now.
        place: the file, line or byte.
    """

    exit_code = 2

    def __init__(
        self,
        what: str,
        *,
        expected: str | None = None,
        got: str | None = None,
        do: str | None = None,
        place: Place | None = None,
    ) -> None:
        self.what, self.expected, self.got, self.do, self.place = what, expected, got, do, place
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
    """A file of text, pairs or pictures that cannot be read as what it was said to be."""


class ConfigError(JumokError):
    """A recipe, an override or an option that cannot be followed."""


class ModelError(JumokError):
    """Sizes, shapes or requests that the model cannot serve."""


class BundleError(JumokError):
    """A model folder or a checkpoint that is missing, damaged, newer or unsafe."""


class TrainingError(JumokError):
    """A training run that cannot go on."""


class MissingExtraError(JumokError):
    """A feature whose optional package is not installed."""

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(
            f"{feature} needs the extra {extra!r}, which is not installed.",
            do=f'pip install "jumok[{extra}]"',
        )
