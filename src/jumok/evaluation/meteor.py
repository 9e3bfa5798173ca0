"""METEOR by its authors' program, version 1.5, which needs Java and supports English.

It matches words by stem, synonym and paraphrase from tables of 60 MB.
Source: Denkowski and Lavie 2014, "Meteor Universal".
"""

from collections.abc import Callable, Mapping, Sequence
from shutil import which
from typing import Protocol, runtime_checkable

from jumok.errors import ConfigError, optional_import


@runtime_checkable  # the tests check annotations while they run
class MeteorProgram(Protocol):
    """The program, while it runs."""

    def compute_score(
        self, wanted: Mapping[int, Sequence[str]], written: Mapping[int, Sequence[str]]
    ) -> tuple[float, Sequence[float]]:
        """The score of all texts together, and that of each; both by the number of the image."""
        ...


def meteor_score(
    outputs: Sequence[Sequence[str]], references: Sequence[Sequence[Sequence[str]]]
) -> float:
    """METEOR of all images' captions together, given as words, from 0 to 1; not the mean of the
    images' scores.

    Raises:
        MissingExtraError, ConfigError: as `meteor_program`.
    """
    program = meteor_program()
    # The program takes an empty line for the end of its input: a caption of no words is one of a
    # word that no reference has.
    written = {number: [" ".join(words) or "∅"] for number, words in enumerate(outputs)}
    expected = {
        number: [" ".join(words) for words in group] for number, group in enumerate(references)
    }
    score, _ = program().compute_score(expected, written)
    return float(score)


def meteor_program() -> Callable[[], MeteorProgram]:
    """The command that starts the program.

    Raises:
        MissingExtraError: the program is not installed.
        ConfigError: there is no Java to run it.
    """
    with optional_import("METEOR", extra="meteor"):
        from pycocoevalcap.meteor import meteor

    program = meteor.Meteor
    if which("java") is None:
        raise ConfigError(
            "METEOR is a Java program, and there is no Java.",
            expected="the command `java` (version 8 or newer)",
            do="install Java, or leave METEOR out",
        )
    return program
