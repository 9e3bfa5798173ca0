"""Inserts strings into a translation where the alignment puts them."""

import re
from collections.abc import Sequence

from jumok.alignment.words import Link
from jumok.data.tokenizer import plain_words
from jumok.systems.translation.keeping import Kept, found_in, missing

Span = tuple[int, int]


def corrected(
    source: str,
    text: str,
    kept: Sequence[Kept],
    extra: Sequence[Span],
    alignment: Sequence[Link] | None,
    spaceless: bool,
) -> str:
    """A translation without its `extra` spans, and with every kept string in it.

    Each missing string goes before the first target word that is linked to its source word; if
    there is none, after the words that are linked to those before it in the source. Without an
    alignment, or without spaces, it goes as far into the text as it is in the source.
    """
    words = word_spans(text)
    first_of: dict[int, int] = {}
    for linked, target in alignment or ():
        first_of[linked] = min(target, first_of.get(linked, target))
    standing = found_in(kept, text)
    insertions = []
    for one, place in standing:
        if place is not None:
            continue
        if spaceless or not alignment or not words:
            at = _by_share(one.start / max(len(source), 1), text, words, spaceless)
        else:
            word = max(len(plain_words(source[: one.end])) - 1, 0)
            at = _by_links(word, alignment, first_of, words)
        # Never inside another kept string.
        inside = (end for _, span in standing if span for start, end in [span] if start < at < end)
        insertions.append((next(inside, at), one.text))
    text = _rebuilt(text, insertions, extra, spaceless)
    for one in missing(kept, text):  # attached to something else: it goes to the end
        text = f"{text} {one.text}".strip()
    return text


def _by_links(
    word: int, alignment: Sequence[Link], first_of: dict[int, int], words: Sequence[Span]
) -> int:
    if word in first_of:
        return words[min(first_of[word], len(words) - 1)][0]
    earlier = [target for linked, target in alignment if linked < word]
    return words[min(max(earlier), len(words) - 1)][1] if earlier else 0


def _rebuilt(
    text: str, insertions: Sequence[tuple[int, str]], extra: Sequence[Span], spaceless: bool
) -> str:
    changes = [(place, place, put) for place, put in insertions]
    changes += [(start, end, "") for start, end in extra]
    done, begin = "", 0
    for start, end, put in sorted(changes, key=lambda change: change[:2]):
        done += text[begin : max(start, begin)]
        begin = max(end, begin)
        if put:
            done = _beside(done, put, spaceless)
            rest = text[begin : begin + 1]
            done += "" if not rest or rest == " " else _beside(put, rest, spaceless)[len(put) : -1]
    joined = (done + text[begin:]).strip()
    return joined if spaceless else re.sub(" {2,}", " ", joined)


def _beside(before: str, after: str, spaceless: bool) -> str:
    """Two strings with a space between them; without spaces only where words would run together."""
    if not before or before[-1] == " ":
        return before + after
    melt = before[-1].isascii() and before[-1].isalnum() and after[0].isascii()
    return f"{before} {after}" if not spaceless or (melt and after[0].isalnum()) else before + after


def _by_share(share: float, text: str, words: Sequence[Span], spaceless: bool) -> int:
    if spaceless:
        return round(share * len(text))
    starts = [start for start, _ in words] + [len(text)]
    return starts[round(share * len(words))]


def word_spans(text: str) -> list[Span]:
    """The spans, in characters, of the words that plain spaces separate."""
    return [match.span() for match in re.finditer("[^ ]+", text)]
