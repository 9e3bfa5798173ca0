"""METEOR by its authors' program, version 1.5, which needs Java and supports English.

It matches words by stem, synonym and paraphrase from tables of 60 MB, so the original program is
used. Source: Denkowski and Lavie 2014, "Meteor Universal".
"""

from collections.abc import Callable, Mapping, Sequence
from shutil import which
from typing import Protocol, runtime_checkable

from jumok.errors import ConfigError
from jumok.late import late_imports

with late_imports("METEOR", extra="meteor"):
    from pycocoevalcap.meteor import meteor


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
    """METEOR of all images' captions together, given as words, from 0 to 1.

    Matches are summed over the corpus before the score is computed: it is not the mean of the
    images' scores.

    Raises:
        MissingExtraError, ConfigError: as `meteor_program`.
    """
    program = meteor_program()
    # The program takes an empty line for the end of its input: a caption of no words is one of a
    # word that no reference has.
    written = {number: [" ".join(each) or "∅"] for number, each in enumerate(outputs)}
    wanted = {number: [" ".join(each) for each in group] for number, group in enumerate(references)}
    score, _ = program().compute_score(wanted, written)
    return float(score)


def meteor_program() -> Callable[[], MeteorProgram]:
    """The command that starts the program.

    Raises:
        MissingExtraError: the program is not installed.
        ConfigError: there is no Java to run it.
    """
    program = meteor.Meteor
    if which("java") is None:
        raise ConfigError(
            "METEOR is a Java program, and there is no Java.",
            expected="the command `java` (version 8 or newer)",
            do="install Java, or leave METEOR out",
        )
    return program
