"""Splitting of lines that are too long for a model."""

import re
from collections.abc import Callable, Iterator
from itertools import pairwise

from jumok.systems.translation.sentences import Span

# After a sentence; after a clause; between words. A match ends where the text may be cut. Scripts
# without spaces need none after their own marks. The mark is in a look-behind, not matched: a line
# of a million full stops would otherwise be read a million times.
CUTS = (
    re.compile(r"(?<=[.!?…؟।])[\"'”’»)\]]*\s+|(?<=[。！？｡])[」』”’）]*\s*(?![。！？｡])"),
    re.compile(r"(?<=[,;:،؛–—])[\"'”’»)\]]*\s+|(?<=[、，；：])\s*"),
    re.compile(r"\s+"),
)


def split(text: str, limit: int, measure: Callable[[str], int]) -> list[Span]:
    """Cuts `text` into parts that measure at most `limit`: at sentence ends if they
    suffice, otherwise at commas, at spaces, or anywhere.

    Neighbours that fit together stay together, and the parts together are the whole text.

    Args:
        measure: the length of a text, for instance in tokens.

    Returns:
        start and end of each part, in characters.
    """
    return list(_split_span(text, 0, len(text), limit, measure))


def _split_span(
    text: str, start: int, end: int, limit: int, measure: Callable[[str], int]
) -> Iterator[Span]:
    if end - start <= 1 or measure(text[start:end]) <= limit:
        yield start, end
        return
    for cut in CUTS:
        parts = _pack(text, _cut_spans(text, start, end, cut), limit, measure)
        if len(parts) > 1:
            break
    else:
        middle = (start + end) // 2
        parts = [(start, middle), (middle, end)]
    for part in parts:
        yield from _split_span(text, *part, limit, measure)


def _cut_spans(text: str, start: int, end: int, cut: re.Pattern[str]) -> list[Span]:
    inside = {match.end() for match in cut.finditer(text, start, end)} - {start, end}
    return list(pairwise([start, *sorted(inside), end]))


def _pack(text: str, parts: list[Span], limit: int, measure: Callable[[str], int]) -> list[Span]:
    """Joins neighbours while they measure at most `limit` together."""
    packed: list[Span] = []
    filled = 0
    for start, end in parts:
        size = measure(text[start:end])
        if packed and filled + size <= limit:
            packed[-1] = (packed[-1][0], end)
            filled += size
        else:
            packed.append((start, end))
            filled = size
    return packed
