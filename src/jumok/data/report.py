"""Counts of the lines of a corpus that were changed or left out, with the first line numbers."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from jumok.errors import DataError
from jumok.json_types import JsonObject

FIRST_LINES = 5
UTF8 = "utf-8"


@dataclass
class LineCount:
    """The number of lines with one reason, and the first line numbers (from 1)."""

    lines: int = 0
    first: list[int] = field(default_factory=list)

    def add(self, other: "LineCount") -> None:
        """Adds the count of later lines."""
        self.lines += other.lines
        self.first = (self.first + other.first)[:FIRST_LINES]

    def __str__(self) -> str:
        if not self.first:
            return f"{self.lines:,}"
        if self.lines == 1:
            return f"1 (line {self.first[0]})"
        more = ", ..." if self.lines > len(self.first) else ""
        return f"{self.lines:,} (lines {', '.join(map(str, self.first))}{more})"


@dataclass
class CorpusReport:
    """The lines that were read, corrected (and kept) and dropped in one corpus, by reason.

    Attributes:
        unit: what is counted: "pairs", "texts".
        skip_damaged: a row that cannot be read is dropped, and is no error.
        encoding: the character set of the text, as Python names it.
        delimiter: between the columns of TSV and CSV; "": the format's own.
    """

    name: str
    read: int = 0
    kept: int = 0
    mended: dict[str, LineCount] = field(default_factory=dict)
    dropped: dict[str, LineCount] = field(default_factory=dict)
    unit: str = "pairs"
    skip_damaged: bool = False
    encoding: str = UTF8
    delimiter: str = ""

    def mend(self, reason: str, line: int) -> None:
        self.mended.setdefault(reason, LineCount()).add(LineCount(1, [line]))

    def drop(self, reason: str, lines: Iterable[int]) -> None:
        if numbers := list(lines):
            self.dropped.setdefault(reason, LineCount()).add(
                LineCount(len(numbers), numbers[:FIRST_LINES])
            )

    def skip(self, reason: str, line: int) -> None:
        """Counts a pair that its reader left out: read and dropped."""
        self.read += 1
        self.drop(reason, [line])

    def damaged(self, error: DataError, line: int) -> None:
        """Counts a row that cannot be read; raises `error` if such rows are not skipped."""
        if not self.skip_damaged:
            raise error
        self.skip(error.what[0].lower() + error.what[1:].rstrip("."), line)

    def join(self, other: "CorpusReport") -> None:
        """Adds the counts of another part of the same corpus."""
        self.read += other.read
        self.kept += other.kept
        for own, its in ((self.mended, other.mended), (self.dropped, other.dropped)):
            for reason, count in its.items():
                own.setdefault(reason, LineCount()).add(count)

    def __str__(self) -> str:
        lines = [f"{self.name}: {self.read:,} {self.unit} read, {self.kept:,} kept"]
        lines += [f"  dropped, {reason}: {count}" for reason, count in self.dropped.items()]
        lines += [f"  corrected, {reason}: {count}" for reason, count in self.mended.items()]
        return "\n".join(lines)

    def to_json(self) -> dict[str, object]:
        """Plain dicts, lists, numbers and strings."""
        counts = {
            kind: {reason: [c.lines, c.first] for reason, c in group.items()}
            for kind, group in (("mended", self.mended), ("dropped", self.dropped))
        }
        return {
            "name": self.name,
            "read": self.read,
            "kept": self.kept,
            "unit": self.unit,
            **counts,
        }

    @classmethod
    def from_json(cls, stored: JsonObject) -> "CorpusReport":
        mended, dropped = (
            {reason: LineCount(lines, first) for reason, (lines, first) in stored[kind].items()}
            for kind in ("mended", "dropped")
        )
        return cls(stored["name"], stored["read"], stored["kept"], mended, dropped, stored["unit"])
