"""Translate lines as they arrive, for `jumok translate` and its documents."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from jumok.cli.output.arriving import Lines
from jumok.cli.output.resuming import Steps

if TYPE_CHECKING:
    from jumok.decoding import DecodingOptions
    from jumok.systems.translation.result import Translation
    from jumok.systems.translation.segments import Split
    from jumok.systems.translation.translator import Translator

AHEAD = 16  # batches read before the first is translated, to sort lines by length


@dataclass(frozen=True)
class Answers:
    """How lines are translated."""

    translator: "Translator"
    options: "DecodingOptions"
    alignments: bool
    prefix: str
    batch: int
    split: "Split"
    keep: bool | list[str]
    glossary: Path | None

    def of(self, incoming: Lines[str], steps: Steps) -> "Iterator[Translation]":
        """The translation of each line; progress is recorded after each chunk."""
        done = steps.done.lines
        for chunk in incoming.chunks(AHEAD * self.batch):
            yield from self.each(chunk, done)
            done += len(chunk)
            steps.settle(chunk)

    def each(self, lines: Iterable[str], done: int = 0) -> "Iterator[Translation]":
        """The translation of each of these lines; `done` lines came before them."""
        return self.translator.translate_lines(
            lines,
            self.options.seeded(done),
            alignments=self.alignments,
            prefix=self.prefix,
            split=self.split,
            keep=self.keep,
            glossary=self.glossary,
            batch_size=self.batch,
            ahead=AHEAD,
        )

    def document(self) -> "Answers":
        """The same for a document, whose markup needs alignments."""
        return replace(self, alignments=self.translator.aligns)
