"""Reports of the filters' matches in a corpus, as lines and as JSON."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np

from jumok.data.pairs.cleaning.characters import Rows
from jumok.data.pairs.pair import Pair
from jumok.json_types import JsonObject

EXAMPLE_PAIRS = 5
SHOWN = 60  # characters of each side of an example on the screen
KEPT_CHARACTERS = 500  # and in the file
WORTH_SAYING = 1e-3
"""The share of pairs from which on a finding is said unasked."""


@runtime_checkable
class ManyPairs(Protocol):
    """Pairs by their rows, of which only examples are read."""

    def __len__(self) -> int: ...

    def __getitem__(self, row: int, /) -> Pair: ...


@dataclass
class Finding:
    """The pairs that one filter matched.

    Attributes:
        says: the words after their number.
        pairs: how many there are.
        of: how many were checked.
        examples: the first ones: line, source, target.
    """

    says: str
    pairs: int = 0
    of: int = 0
    examples: list[tuple[int, str, str]] = field(default_factory=list)

    def add(self, matches: Rows, pairs: ManyPairs, checked: int) -> None:
        """Adds the matches among `checked` pairs."""
        self.pairs += int(matches.sum())
        self.of += checked
        for row in np.flatnonzero(matches)[: EXAMPLE_PAIRS - len(self.examples)].tolist():
            pair = pairs[row]
            sides = pair.source[:KEPT_CHARACTERS], pair.target[:KEPT_CHARACTERS]
            self.examples.append((pair.line, *sides))

    def merge(self, other: "Finding") -> None:
        self.pairs, self.of = self.pairs + other.pairs, self.of + other.of
        self.examples = (self.examples + other.examples)[:EXAMPLE_PAIRS]

    @property
    def share(self) -> float:
        return self.pairs / max(self.of, 1)

    def __str__(self) -> str:
        verb = self.says if self.pairs > 1 else _singular(self.says)
        pairs = "pair" if self.of == 1 else "pairs"
        text = f"{self.pairs:,} of {self.of:,} {pairs} ({100 * self.share:.2g} %) {verb}"
        if not self.examples:
            return text
        line, source, target = self.examples[0]
        return f"{text}, e.g. line {line:,}: {_short(source)} = {_short(target)}"


def _singular(says: str) -> str:
    """ "is equal" of "are equal"."""
    verb, _, rest = says.partition(" ")
    ones = {"are": "is", "have": "has", "hold": "holds", "repeat": "repeats"}
    return f"{ones[verb]} {rest}" if verb in ones else says.replace("repeat", "repeats", 1)


def _short(text: str) -> str:
    shown = text if len(text) <= SHOWN else f"{text[: SHOWN - 3]}..."
    printable = (
        letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in shown
    )
    return f'"{"".join(printable)}"'


@dataclass
class CleaningReport:
    """What was found in one corpus.

    Attributes:
        kept: the pairs that are left; all, if nothing was to be left out.
        leaves_out: whether pairs are left out.
        findings: by the filters' names; each pair that is left out counts once.
        notes: further observations, and filters that could not be applied.
    """

    name: str
    leaves_out: bool
    read: int = 0
    kept: int = 0
    findings: dict[str, Finding] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def merge(self, other: "CleaningReport") -> None:
        """Adds a later part of the same corpus."""
        self.read, self.kept = self.read + other.read, self.kept + other.kept
        for name, finding in other.findings.items():
            if name in self.findings:
                self.findings[name].merge(finding)
            else:
                self.findings[name] = finding
        self.notes += [note for note in other.notes if note not in self.notes]

    def lines(self) -> Iterator[str]:
        """For the screen: all that was left out, or warnings of what would be worth leaving out."""
        if self.leaves_out:
            yield f"{self.name}: {self.read:,} pairs read, {self.kept:,} left by data.clean"
            yield from (f"  left out ({name}): {finding}" for name, finding in self._matched())
            yield from (f"  {note}" for note in self.notes)
            return
        for name, finding in self._matched():
            if finding.share >= WORTH_SAYING:
                yield f"warning: {self.name}: {finding}; {_remedy(name)}"
        yield from (f"warning: {self.name}: {note}" for note in self.notes)

    def _matched(self) -> Iterable[tuple[str, Finding]]:
        return ((name, finding) for name, finding in self.findings.items() if finding.pairs)

    def to_json(self) -> dict[str, object]:
        """Plain dicts, lists, numbers and strings."""
        return {
            "corpus": self.name,
            "leaves_out": self.leaves_out,
            "read": self.read,
            "kept": self.kept,
            "filters": {
                name: {
                    "pairs": finding.pairs,
                    "of": finding.of,
                    "says": finding.says,
                    "examples": [
                        {"line": line, "source": source, "target": target}
                        for line, source, target in finding.examples
                    ],
                }
                for name, finding in self.findings.items()
            },
            "notes": self.notes,
        }

    @classmethod
    def from_json(cls, stored: JsonObject) -> "CleaningReport":
        """The inverse of `to_json`."""
        findings = {}
        for name, finding in stored["filters"].items():
            examples = [(one["line"], one["source"], one["target"]) for one in finding["examples"]]
            findings[name] = Finding(finding["says"], finding["pairs"], finding["of"], examples)
        counts = stored["read"], stored["kept"]
        return cls(stored["corpus"], stored["leaves_out"], *counts, findings, stored["notes"])


def _remedy(name: str) -> str:
    if name == "swapped":
        return "swap source and target in the recipe if these are most pairs"
    return "data.clean = true leaves them out"
