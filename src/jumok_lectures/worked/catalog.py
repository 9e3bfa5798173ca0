"""The worked examples of every note."""

from collections.abc import Callable, Mapping

from jumok.errors import ConfigError
from jumok_lectures.worked import lecture_000, lecture_001, lecture_002, lecture_003, lecture_004
from jumok_lectures.worked.example import WorkedExample

WORKED: Mapping[str, Callable[[], list[WorkedExample]]] = {
    "000": lecture_000.examples,
    "001": lecture_001.examples,
    "002": lecture_002.examples,
    "003": lecture_003.examples,
    "004": lecture_004.examples,
}
"""By the note's number."""


def worked(wanted: str) -> list[WorkedExample]:
    """The examples of a note, or the one that begins at a line of it.

    Args:
        wanted: "002", or "002:11".

    Raises:
        ConfigError: there is no such note, or no example at this line.
    """
    number, _, line = wanted.partition(":")
    if number not in WORKED:
        raise ConfigError(
            "there is no such lecture note.",
            expected=", ".join(WORKED),
            got=wanted,
            do="`jumok explain --lecture` lists the worked examples",
        )
    examples = WORKED[number]()
    if not line:
        return examples
    chosen = [each for each in examples if str(each.quote.line) == line]
    if not chosen:
        raise ConfigError(
            f"no worked example of note {number} begins at this line.",
            expected=", ".join(each.quote.place for each in examples),
            got=wanted,
            do="`jumok explain --lecture` lists the worked examples",
        )
    return chosen
