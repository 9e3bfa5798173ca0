"""Suspicious pairs of a corpus: they are counted, and left out on request.

Only what can be decided without guessing: repeated pairs, translations that equal their source,
tags and entities, letters but none of the language's script. Shifted pairs are detected from the
lengths of all pairs.
"""

import re
from array import array
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from jumok.data.pairs.drift import shifted_part
from jumok.data.pairs.pair import Pair
from jumok.data.report import CorpusReport

CLEAN = {
    "duplicates": "a repeated pair",
    "equal": "source and target are equal",
    "markup": "tags or entities (<b>, &amp;)",
    "script": "letters, but none of the language's script",
}
"""The kinds of suspicious pairs, and their names in reports."""

_MARKUP = re.compile(r"</?[A-Za-z][^<>]*>|&(?:[A-Za-z]{2,8}|#x?[0-9A-Fa-f]{1,6});")
_LETTER = re.compile(r"[^\W\d_]")
_LATIN = r"A-Za-z\u00c0-\u024f\u1e00-\u1eff"
_IN_LATIN = "en fr de es it pt nl pl cs sk sv da no nb fi hu ro tr vi id ca et lv lt hr sl"
_SCRIPTS = {
    "ko": "\u1100-\u11ff\u3130-\u318f\uac00-\ud7a3",
    "ja": "\u3040-\u30ff\u3400-\u9fff",
    "zh": "\u3400-\u9fff",
    **dict.fromkeys(("ru", "uk", "be", "bg", "mk"), "\u0400-\u04ff"),
    "el": "\u0370-\u03ff\u1f00-\u1fff",
    "he": "\u0590-\u05ff",
    **dict.fromkeys(("ar", "fa", "ur"), "\u0600-\u06ff\u0750-\u077f"),
    "th": "\u0e00-\u0e7f",
    **dict.fromkeys(("hi", "mr", "ne"), "\u0900-\u097f"),
    **dict.fromkeys(_IN_LATIN.split(), _LATIN),
}


def odd_script(language: str) -> Callable[[str], bool] | None:
    """Whether a text cannot be in this language: it has letters, but none of the language's script.

    Latin letters occur in any language, in names and units. None: the script is not known.
    """
    letters = _SCRIPTS.get(language.lower().replace("_", "-").split("-")[0])
    if letters is None:
        return None
    own = re.compile(f"[{letters}{_LATIN}]")
    return lambda text: own.search(text) is None and _LETTER.search(text) is not None


def cleaned(
    pairs: Iterator[Pair], report: CorpusReport, clean: Sequence[str], languages: tuple[str, str]
) -> Iterator[Pair]:
    """The pairs; suspicious ones are counted, and left out on request.

    Args:
        clean: the kinds of CLEAN that are left out; all others are counted and kept.
        languages: codes of source and target; "" if unknown.
    """
    seen: set[int] = set()
    scripts = [odd_script(language) for language in languages]
    lengths = array("I"), array("I")
    lines = array("Q")
    for pair in pairs:
        kinds = []
        key = hash(pair[:2])
        if key in seen:
            kinds.append("duplicates")
        seen.add(key)
        if pair.source == pair.target and _LETTER.search(pair.source):
            kinds.append("equal")
        if any(("<" in text or "&" in text) and _MARKUP.search(text) for text in pair[:2]):
            kinds.append("markup")
        if any(odd and odd(text) for odd, text in zip(scripts, pair[:2], strict=True)):
            kinds.append("script")
        out = next((kind for kind in kinds if kind in clean), None)
        if out is not None:
            report.skip(CLEAN[out], pair.line)
            continue
        for kind in kinds:
            report.notice(CLEAN[kind], pair.line)
        for side, text in zip(lengths, pair[:2], strict=True):
            side.append(len(text))
        lines.append(pair.line)
        yield pair
    part = shifted_part(*(np.array(side, dtype=np.float64) for side in lengths))
    if part is not None:
        first, last, by = part
        report.notice(
            f"by their lengths, lines {lines[first]:,} to {lines[last]:,} are shifted: each source "
            f"fits the target {abs(by)} {'below' if by > 0 else 'above'}, from line",
            lines[first],
        )
