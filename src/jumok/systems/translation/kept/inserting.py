"""Insertion of missing strings into a translation by its alignment."""

import re
from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate

from jumok.alignment.words import Link
from jumok.data.tokenizer import plain_words
from jumok.systems.translation.kept.keeping import Kept, found_in, missing_in
from jumok.systems.translation.sentences import Span

_SENTENCE_MARKS = frozenset(".!?。！？…")
_END_OF_SENTENCE = re.compile(rf"[{''.join(sorted(_SENTENCE_MARKS))}]{{0,8}}\Z")


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
    links = _Links(alignment or (), words)
    before = [start for start, _ in word_spans(source)]
    standing = found_in(kept, text)
    whole = sorted(span for _, span in standing if span)
    insertions = []
    for one, place in standing:
        if place is not None:
            continue
        if spaceless or not alignment or not words:
            at = _by_share(one.start / max(len(source), 1), text, words, spaceless)
        else:
            at = links.place(max(bisect_left(before, one.end) - 1, 0))
        if not _behind_mark(source, one):
            at = _before_end(text, at, one)
        # Never inside another kept string.
        insertions.append((after_kept(whole, at), one.text))
    text = _with_changes(text, insertions, extra, spaceless)
    # What is attached to something else goes to the end.
    return " ".join(filter(None, [text, *(one.text for one in missing_in(kept, text))])).strip()


def without_tail(source: str, kept: Sequence[Kept], text: str) -> str:
    """The text up to its last mark, if only kept strings follow that follow none in the source."""
    end = len(text)
    inner = [one for one in kept if not _behind_mark(source, one)]
    for start, stop in sorted((span for _, span in found_in(inner, text) if span), reverse=True):
        if text[stop:end].strip():
            break
        end = len(text[:start].rstrip())
    return text[:end] if text[end - 1 : end] in _SENTENCE_MARKS else text


def _behind_mark(source: str, one: Kept) -> bool:
    return source[: one.start].rstrip()[-1:] in _SENTENCE_MARKS


def _before_end(text: str, place: int, one: Kept) -> int:
    """The place, or the mark that ends the text if the place is behind it."""
    end = _END_OF_SENTENCE.search(text)
    if end is None or place <= end.start():
        return place
    ((_, still),) = found_in([one], one.text + end[0])
    return place if still is None else end.start()


def after_kept(kept: Sequence[Span], place: int) -> int:
    """The place, or the end of the span that it is inside of; the spans are in order."""
    index = bisect_left(kept, (place, 0)) - 1
    return kept[index][1] if index >= 0 and place < kept[index][1] else place


class _Links:
    """Where the words of a source belong in its translation."""

    def __init__(self, alignment: Sequence[Link], words: Sequence[Span]) -> None:
        self._words = words
        self._first: dict[int, int] = {}
        self._last = last = dict[int, int]()
        for linked, target in alignment:
            self._first[linked] = min(target, self._first.get(linked, target))
            last[linked] = max(target, last.get(linked, target))
        self._sources = sorted(last)
        self._reached = list(accumulate((last[word] for word in self._sources), max))

    def place(self, word: int) -> int:
        """Before the first word that is linked to this one or to the next, or behind those that are
        linked to earlier ones.
        """
        last = len(self._words) - 1
        for near in (word, word + 1):
            if near in self._first:
                return self._words[min(self._first[near], last)][0]
        if word - 1 in self._last:
            return self._words[min(self._last[word - 1], last)][1]
        earlier = bisect_left(self._sources, word)
        return self._words[min(self._reached[earlier - 1], last)][1] if earlier else 0


def _with_changes(
    text: str, insertions: Sequence[tuple[int, str]], extra: Sequence[Span], spaceless: bool
) -> str:
    changes = [(place, place, put) for place, put in insertions]
    changes += [(start, end, "") for start, end in extra]
    parts, begin, last = [""], 0, ""
    for start, end, put in sorted(changes, key=lambda change: change[:2]):
        parts.append(text[begin : max(start, begin)])
        begin, last = max(end, begin), parts[-1][-1:] or last
        if put:
            rest = text[begin : begin + 1]
            joint = (
                ""
                if not rest.strip() or rest in _SENTENCE_MARKS
                else _spaced(put, rest, spaceless)[len(put) : -1]
            )
            parts.append(_spaced(last, put, spaceless)[len(last) :] + joint)
            last = parts[-1][-1]
    joined = "".join([*parts, text[begin:]]).strip()
    return joined if spaceless else re.sub(" {2,}", " ", joined)


def _spaced(before: str, after: str, spaceless: bool) -> str:
    """Two strings with a space between them; without spaces only where words would run together."""
    if not before or before[-1] == " ":
        return before + after
    melt = before[-1].isascii() and before[-1].isalnum() and after[0].isascii()
    return f"{before} {after}" if not spaceless or (melt and after[0].isalnum()) else before + after


def _by_share(share: float, text: str, words: Sequence[Span], spaceless: bool) -> int:
    if spaceless:
        return round(share * len(text))
    place = round(share * len(words))
    return words[place][0] if place < len(words) else len(text)


def word_spans(text: str) -> list[Span]:
    """The spans, in characters, of the words that plain spaces separate."""
    return [match.span() for match in re.finditer("[^ ]+", text)]


def without_code(text: str, kept: Sequence[Kept]) -> str:
    """The text of a source without the code in it."""
    parts, at = [], 0
    for one in (one for one in kept if one.kind == "code"):
        parts += [text[at : one.start], " " if " " in one.text else ""]
        at = one.end
    return " ".join(plain_words("".join([*parts, text[at:]])))


def words_beside(text: str, kept: Sequence[Kept]) -> list[int]:
    """The indices of the words of a source that `without_code` leaves, in order; -1 for one with
    code in it, such as a comma behind a placeholder.
    """
    codes = [one for one in kept if one.kind == "code"]
    beside = []
    for index, (start, end) in enumerate(word_spans(text)):
        size = sum(max(0, min(end, one.end) - max(start, one.start)) for one in codes)
        if size < end - start:
            beside.append(-1 if size else index)
    return beside
