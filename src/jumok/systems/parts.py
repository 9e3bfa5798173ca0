"""Lines to the parts that a model can read, and the parts' translations back to lines."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from jumok.data.tokenizer import Tokenizer, normalize
from jumok.inspection.alignment import Link
from jumok.systems.splitting import split
from jumok.systems.translation import Translation


@dataclass(frozen=True)
class Part:
    """What is translated at once: a line, or a part of one.

    Attributes:
        line: the index of its line.
        ids: its pieces, without END.
        first_word: the index in the line of the word that it starts with, or in.
    """

    line: int
    ids: list[int]
    first_word: int = 0


def plain_words(text: str) -> list[str]:
    """The words of a normalised text: what plain spaces separate, and no other space does."""
    return [word for word in text.split(" ") if word]


def cut_lines(texts: Sequence[str], tokenizer: Tokenizer, limit: int) -> list[Part]:
    """The parts of all lines, in order; each of at most `limit` pieces. Empty lines have none."""
    parts = []
    for line, ids in enumerate(tokenizer.encode_batch(texts)):
        if not ids:
            continue
        if len(ids) <= limit:
            parts.append(Part(line, ids))
            continue
        text = normalize(texts[line])
        for start, end in split(text, limit, lambda part: len(tokenizer.encode(part))):
            inside_word = start > 0 and " " not in text[start - 1 : start + 1]
            first_word = len(plain_words(text[:start])) - inside_word
            if ids := tokenizer.encode(text[start:end]):
                parts.append(Part(line, ids, first_word))
    return parts


def join(
    lines: int, parts: Sequence[Part], found: Sequence[Sequence[Translation]], joint: str
) -> list[Translation]:
    """One translation a line, its alternatives inside.

    Args:
        lines: how many; those without a part stay empty.
        found: for each part its translations, best first.
        joint: what stands between the translations of a line's parts.
    """
    joined = [Translation("", alignment=()) for _ in range(lines)]
    pairs = zip(parts, found, strict=True)
    for line, group in groupby(pairs, key=lambda pair: pair[0].line):
        of_line = list(group)
        ranks = zip(*(translations for _, translations in of_line), strict=False)
        words = [part.first_word for part, _ in of_line]
        best, *others = [_join_one(words, rank, joint) for rank in ranks]
        joined[line] = replace(best, alternatives=tuple(others))
    return joined


def _join_one(first_words: Sequence[int], parts: Sequence[Translation], joint: str) -> Translation:
    if len(parts) == 1:
        return parts[0]
    text = ""
    alignment: list[Link] = []
    for first_word, part in zip(first_words, parts, strict=True):
        between = joint if text and part.text else ""
        # Without a space between them the last word so far and the part's first become one.
        first_target = len(plain_words(text)) - bool(text and not between)
        links = part.alignment or ()
        alignment += [(source + first_word, target + first_target) for source, target in links]
        text += between + part.text
    return Translation(
        text,
        sum(part.score for part in parts),
        tuple(piece for part in parts for piece in part.tokens),
        tuple(value for part in parts for value in part.token_log_probabilities),
        tuple(piece for part in parts for piece in part.source_tokens),
        tuple(sorted(alignment)) if parts[0].alignment is not None else None,
    )
