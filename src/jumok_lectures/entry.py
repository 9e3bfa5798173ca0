"""What the catalog holds of a lab: the note's own words, the claim, and what would disprove it."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module

from jumok_lectures.findings import Findings, Setting
from jumok_lectures.text import Text


@dataclass(frozen=True)
class Quote:
    """Words of a lecture note, exactly as in its text, on one line.

    Attributes:
        note: its number, such as "003".
        line: of its text, from 1.
    """

    note: str
    line: int
    words: str

    @property
    def place(self) -> str:
        """ "003:12"."""
        return f"{self.note}:{self.line}"


@dataclass(frozen=True)
class Lab:
    """One experiment.

    Attributes:
        claim: what is tested; of the notes, or what their words leave open.
        quotes: the notes' own sentences.
        would_fail: what would have made the claim fail; written before it ran.
        seconds: approximate processor time of the short form with three seeds; docs/lab.md has
            the measurements.
        reads_encoders: whether it accepts a pretrained encoder.
        room: the package of its module.
    """

    name: str
    title: Text
    claim: Text
    quotes: tuple[Quote, ...]
    would_fail: Text
    seconds: int
    reads_encoders: bool = False
    room: str = "experiments"

    @property
    def lectures(self) -> str:
        """The notes that it quotes: "000, 001"."""
        return ", ".join(sorted({quote.note for quote in self.quotes}))

    @property
    def module(self) -> str:
        """Where it is written."""
        return f"jumok_lectures.{self.room}.{self.name.replace('-', '_')}"

    def run(self, setting: Setting) -> Findings:
        """Runs it."""
        run: Callable[[Setting], Findings] = import_module(self.module).run
        return run(setting)
