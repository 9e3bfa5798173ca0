"""Given translations, cut and read as `translate` would have written them. Imports no torch."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from jumok.data.tokenizer import Tokenizer, normalize
from jumok.systems.translation.kept.icu import Messages
from jumok.systems.translation.kept.keeping import Keep
from jumok.systems.translation.kept.markup import Bare
from jumok.systems.translation.segments import Segment
from jumok.systems.translation.sentences import sentences


@dataclass(frozen=True)
class GivenPairs:
    """Pairs in segments.

    Attributes:
        parts: segments of the sources, in order; at least one a line.
        targets: the tokens of the translation of each, without END.
        whole: the lines that `translate` would read in several segments, in another case or without
            signs at their edges, and whose translations do not divide in the same way: one segment
            holds the line.
    """

    parts: list[Segment]
    targets: list[list[int]]
    whole: frozenset[int]

    def longest(self) -> tuple[list[list[int]], list[list[int]]]:
        """The tokens of each line's longest segment, and of its longest translation."""
        sides: tuple[list[list[int]], list[list[int]]] = [], []
        rows = zip(self.parts, self.targets, strict=True)
        for _, group in groupby(rows, key=lambda row: row[0].line):
            of_line = list(group)
            sides[0].append(max((part.ids for part, _ in of_line), key=len))
            sides[1].append(max((ids for _, ids in of_line), key=len))
        return sides


def divide(
    parts: Sequence[Segment],
    sources: Sequence[str],
    targets: Sequence[str],
    tokenizer: Tokenizer,
    language: str,
    messages: Collection[int] = (),
) -> GivenPairs:
    """The pairs in segments.

    Args:
        parts: the segments of the sources, as `translate` cuts them.
        sources, targets: whole lines.
        messages: lines that are several texts to `translate`, and are not divided here.
        language: of the targets, for where their sentences end.
    """
    cut = {line: list(group) for line, group in groupby(parts, key=lambda part: part.line)}
    inner: list[tuple[Segment, str]] = []
    whole = set[int]()
    for line, (source, target) in enumerate(zip(sources, targets, strict=True)):
        given = _inner(cut.get(line, ()), normalize(target), language)
        if given is None or line in messages:
            whole.add(line)
            given = None
        read = tokenizer.encode(source)
        inner += given or [(Segment(line, read, text=source if read else ""), target)]
    encoded = tokenizer.target.encode_batch([text for _, text in inner])
    opening = list(tokenizer.target.opening)
    ids = [
        ids or opening if part.ids else ids for ids, (part, _) in zip(encoded, inner, strict=True)
    ]
    return GivenPairs([part for part, _ in inner], ids, frozenset(whole))


def _inner(
    parts: Sequence[Segment], target: str, language: str
) -> list[tuple[Segment, str]] | None:
    """Each segment with the text of its translation between its signs; None: it does not divide."""
    spans = sentences(target, language) if len(parts) > 1 else [(0, len(target))]
    if len(spans) != len(parts):
        return None if parts else []
    inner = []
    for part, (start, end) in zip(parts, spans, strict=True):
        text = target[start:end].strip()
        within = text.removeprefix(part.before).removesuffix(part.after)
        if f"{part.before}{within}{part.after}" != text or (not part.ids and text != part.text):
            return None
        inner.append((part, within if part.ids else ""))
    return inner


def otherwise(lines: Sequence[str], parts: Sequence[Segment]) -> set[int]:
    """The lines that `translate` does not hand to a model whole, or whose translations hold what it
    keeps.

    Args:
        parts: their segments.
    """
    keep = Keep()
    found = set(Messages.of(lines).messages)
    found |= {line for line, text in enumerate(lines) if keep.find(normalize(text))}
    found |= {line for line, text in enumerate(Bare(lines).texts) if text != lines[line]}
    for line, group in groupby(parts, key=lambda part: part.line):
        of_line = list(group)
        if of_line != [replace(of_line[0], before="", after="", given="", first_word=0)]:
            found.add(line)
    return found
