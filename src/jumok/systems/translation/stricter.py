"""A second search for segments whose translation cannot be right: it is empty, repeats itself, or
is far too long or too short.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from jumok.decoding import DecodingOptions, Hypothesis
from jumok.decoding.limits import Prefixes
from jumok.systems.translation.judging import (
    COPIED,
    EMPTY,
    SEARCHED_AGAIN,
    TOO_SHORT,
    Judge,
)
from jumok.systems.translation.result import Draft
from jumok.systems.translation.searching import ReadSources
from jumok.systems.translation.segments import Segment

NO_REPEAT = 3  # tokens of the n-grams that the second search must not repeat


def search_stricter(
    judge: Judge,
    draft_of: Callable[[Hypothesis], Draft],
    parts: Sequence[Segment],
    drafts: list[list[Draft]],
    read: ReadSources,
    options: DecodingOptions,
    prefixes: Prefixes | None,
) -> None:
    """Replaces the drafts of such segments, where the second search finds ones with fewer faults.

    Args:
        drafts: of each segment, best first.
        read: the segments.
        options, prefixes: of the first search.
    """
    groups: dict[DecodingOptions, list[int]] = {}
    for row, (part, (best, *_)) in enumerate(zip(parts, drafts, strict=True)):
        faults = judge.faults(part.text, best.text)
        stricter = _stricter(options, faults, len(part.ids)) if faults else None
        if stricter is not None:
            groups.setdefault(stricter, []).append(row)
    for stricter, rows in groups.items():
        begun = None if prefixes is None else [prefixes[row] for row in rows]
        searched = read.select(rows).search(stricter, begun)
        for row, hypotheses in zip(rows, searched, strict=True):
            others = [replace(draft_of(each), notes=(SEARCHED_AGAIN,)) for each in hypotheses]
            first, second = (
                len(judge.faults(parts[row].text, each[0].text)) for each in (drafts[row], others)
            )
            if second < first:
                drafts[row] = others


def _stricter(
    options: DecodingOptions, faults: Sequence[str], tokens: int
) -> DecodingOptions | None:
    """Options that avoid these faults of the translation of so many tokens; None: there are none.

    Samples are not searched for, and what is copied is not wrong in every word.
    """
    if options.sample or faults == (COPIED,):
        return None
    if EMPTY in faults or TOO_SHORT in faults:
        least = min(max(options.minimum_length, tokens // 2 + 1), options.maximum_length)
        return replace(options, minimum_length=least)
    return None if options.no_repeat_ngram else replace(options, no_repeat_ngram=NO_REPEAT)
