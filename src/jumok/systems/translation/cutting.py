"""Lines as a model reads them: segments without tags, of the texts of messages."""

from collections.abc import Sequence
from dataclasses import dataclass

from jumok.decoding import Hypothesis
from jumok.systems.base import RowTexts, numbered
from jumok.systems.translation.kept.icu import Messages
from jumok.systems.translation.kept.keeping import Keep
from jumok.systems.translation.kept.markup import Bare
from jumok.systems.translation.result import Draft, Translation
from jumok.systems.translation.segments import Segment, join


@dataclass(frozen=True)
class CutLines:
    """The segments of lines, and how their translations become translations of the lines.

    Attributes:
        parts: `Segment.line` is the index of a text of `messages`; a line may have several.
        keep: what the segments' translations must contain; None: nothing.
        joint: put between the translations of a line's segments.
    """

    messages: Messages
    bare: Bare | None
    parts: list[Segment]
    keep: Keep | None
    joint: str

    @classmethod
    def whole(cls, text: str, ids: list[int]) -> "CutLines":
        """A line that is read as one segment, with everything in it."""
        return cls(Messages.of([text], read=False), None, [Segment(0, ids, text=text)], None, "")

    @property
    def tagged(self) -> bool:
        """Whether there are tags, which go where the alignment puts them."""
        return self.bare is not None and self.bare.any

    @property
    def lines(self) -> list[int]:
        """For each segment the index of its line."""
        return [self.messages.owners[part.line] for part in self.parts]

    @property
    def numbers(self) -> list[tuple[int, int]]:
        """For each segment its number in its line, and how many the line has."""
        return numbered(self.lines)

    @property
    def copies(self) -> list[tuple[int, tuple[int, int], str]]:
        """What no model reads, as the event COPIED has it: segments without a word, and damaged
        messages.
        """
        rows = zip(self.parts, self.lines, self.numbers, strict=True)
        copied = [(line, at, part.source) for part, line, at in rows if not part.ids]
        damaged = [line for line, each in self.messages.messages.items() if each is None]
        return copied + [(line, (0, 1), self.messages.lines[line]) for line in damaged]

    def joined(
        self,
        translated: Sequence[Sequence[Translation]],
        nbest: int | None,
        alignments: bool,
    ) -> list[Translation]:
        """A translation for each line; arguments as in `join`."""
        count = len(self.messages.texts)
        joined = join(count, self.parts, translated, self.joint, nbest)
        if self.bare is not None:
            joined = self.bare.dressed(joined, alignments)
        return self.messages.joined(joined)


def found_of(
    parts: Sequence[Segment], drafts: Sequence[Sequence[Draft]]
) -> tuple[list[list[Hypothesis]], list[RowTexts], list[list[int]]]:
    """The facts of the event FOUND: hypotheses, texts and tokens."""
    hypotheses = [[draft.hypothesis for draft in of_part] for of_part in drafts]
    texts = [
        RowTexts(part.source, [part.written(draft.text) for draft in of_part])
        for part, of_part in zip(parts, drafts, strict=True)
    ]
    return hypotheses, texts, [part.ids for part in parts]
