"""What of a segment the model reads: its words, without the signs at its edges.

One rule for lines, documents, Python and the server. Bullets, numbers of list items, notes, a
symbol, and quotes or brackets around the whole are copied, and so is a segment in which nothing is
left to translate: numbers, dates, signs, addresses, placeholders, strings longer than any word.
"""

import re
import unicodedata

from jumok.documents.segment import has_word
from jumok.systems.translation.kept.code import NO_WORDS, OWN_WORD, PLAIN_SENTENCE, USUAL
from jumok.systems.translation.kept.keeping import Keep
from jumok.systems.translation.sentences import Span

_NO_WORDS = Keep([*USUAL, *NO_WORDS], usual=False)

LONGEST_WORD = 1000
"""Characters of the longest word; what has more, such as a file in base64, is none."""

_WORD_LETTER = r"[^\s。、，！？；：]"  # scripts without spaces have their own marks
LONG = rf"(?<!{_WORD_LETTER}){_WORD_LETTER}{{{LONGEST_WORD + 1},}}+"
LONG_WORD = re.compile(LONG)

BEFORE = (
    r"\s*(?:"
    r"(?:[-–—*+·•◦‣⁃▪▫■□●○◆◇►▶▷→⇒✓✔✗✘※☐☑☒#>»›¶|=]++|//|/\*"  # a bullet
    r"|\(?(?:\d{1,3}|[A-Za-z]|[ivxIVX]{1,4})\)|\d{1,3}(?:\.\d{1,3}){0,3}[.)]?"  # a number
    r"|(?:[A-Za-z]|[ivxIVX]{2,4})\.(?=\s+[^a-z\s])(?!\s+[A-Za-z]\.)"
    r"|[가나다라마바사아자차카타파하][.)]|[§№]+\s?\d{1,4}[.)]?"
    r"|\[(?:\d{1,3}|[ xX])\])"
    r"(?:\s+|\Z)"
    r"|(?:[①-⓿❶-➓㈠-㊿]|[0-9#*]\ufe0f?\u20e3|[一二三四五六七八九十]{1,3}[、．]|\.{2,}|…)\s*)+"
)
NUMBER_ALONE = r"\s*\d{1,3}(?:\.\d{1,3}){0,3}\s+\Z"
AFTER = (
    r"(?<!\s)\s*(?:(?:\[\d{1,3}\]|[¹²³⁰⁴-⁹]{1,3}|[*†‡]"
    r"|(?<=\s)(?:[→←⇒|=]{1,6}|[-–—]{1,3}|\*/|[:;]-?[()DP]))\s*|\.{3,6}|…)\Z"
)
_BEFORE, _NUMBER_ALONE, _AFTER = re.compile(BEFORE), re.compile(NUMBER_ALONE), re.compile(AFTER)
_LONGEST_AFTER = 12
MOST_EDGES = 8  # quotes in brackets in quotes
_PAIRS = {
    "“": "”",
    "„": "“”",
    "«": "»",
    "»": "«",
    "‹": "›",
    "「": "」",
    "『": "』",
    "《": "》",
    "〈": "〉",
    "(": ")",
    "[": "]",
    "【": "】",
    "（": "）",
    "〔": "〕",
    "{": "}",
    "‘": "’",
    "‚": "‘’",
    '"': '"',
    "'": "'",
    "♪": "♪",
    "♫": "♫",
}
_MARKS = ("***", "**", "*", "___", "__", "_", "~~", "==", "#", "'''", "''")
MARKED = "|".join(
    f"{re.escape(mark)}(?![{mark[0]}\\s])[^{mark[0]}]*+(?<!\\s){re.escape(mark)}\\Z"
    for mark in _MARKS
)
_MARKED = re.compile(MARKED)
"""Words between equal marks, as in Markdown and wikis."""

_SYMBOLS = {"So", "Sk", "Cn", "Co"}
_WITH_SYMBOL = "\u200d\ufe0e\ufe0f\u20e3 "  # joiners and forms of emoji
# How JavaScript writes classes of characters, and what is no class.
_CLASSES = {"d": r"\p{Nd}", "w": r"\p{L}\p{N}_"}
_NO_DIGIT = r"[^\W\d]", r"[\p{L}\p{Nl}\p{No}_]"
_IN_WORD = rf"[{_CLASSES['w']}]"
_OUTSIDE = {
    "Z": "$",
    "b": f"(?:(?<={_IN_WORD})(?!{_IN_WORD})|(?<!{_IN_WORD})(?={_IN_WORD}))",
}


def core(text: str) -> Span | None:
    """The span of what is translated of a normalised segment; None: nothing of it is."""
    if PLAIN_SENTENCE.fullmatch(text) and OWN_WORD.search(text):
        return 0, len(text)
    return between_edges(text)


def between_edges(text: str) -> Span | None:
    """As `core`, of a text that is more than a plain sentence."""
    if LONG_WORD.fullmatch(text.strip()) or not _has_own_word(text):
        return None
    start, end = 0, len(text)
    for _ in range(MOST_EDGES):
        before = start, end
        start, end = _without_edges(text, start, end)
        if (start, end) == before:
            break
    return (start, end) if has_word(text[start:end]) else None


def rule_of_page() -> dict[str, object]:
    """What the page follows the rule by (`web/model/edges.js`)."""
    return {
        "before": in_javascript(BEFORE),
        "numberAlone": f"^(?:{in_javascript(NUMBER_ALONE)})",
        "after": in_javascript(AFTER),
        "longestAfter": _LONGEST_AFTER,
        "longWord": f"^(?:{in_javascript(LONG)})$",
        "marked": f"^(?:{in_javascript(MARKED)})",
        "symbols": "".join(rf"\p{{{category}}}" for category in sorted(_SYMBOLS)),
        "joiners": _WITH_SYMBOL,
        "most": MOST_EDGES,
        "pairs": _PAIRS,
        "code": [in_javascript(pattern) for pattern in (*USUAL, *NO_WORDS)],
    }


def in_javascript(pattern: str) -> str:
    """A regular expression as JavaScript writes it (flag u), without possessive quantifiers: they
    save time, and match the same where this is used.
    """
    parts: list[str] = []
    within = False  # a class in brackets
    signs = iter(pattern.replace(*_NO_DIGIT))
    for sign in signs:
        if sign == "\\":
            parts.append(_escape(next(signs), within))
        elif within or sign != "+" or parts[-1:] not in (["*"], ["+"], ["?"], ["}"]):
            parts.append(sign)
        within = (within or sign == "[") and sign != "]"
    return "".join(parts)


def _escape(letter: str, within: bool) -> str:
    """An escape as JavaScript writes it."""
    if letter in _CLASSES:
        return _CLASSES[letter] if within else f"[{_CLASSES[letter]}]"
    if letter in _OUTSIDE:
        return _OUTSIDE[letter]
    assert letter in "spu" or not letter.isalnum(), f"JavaScript has no \\{letter} like it"
    return f"\\{letter}" if letter in "^$\\.*+?()[]{}|/-spu" else letter


def _has_own_word(text: str) -> bool:
    """Whether there is a letter outside of strings that are kept."""
    if not has_word(text):
        return False
    at = 0
    for one in _NO_WORDS.find(text):
        if has_word(text[at : one.start]):
            return True
        at = one.end
    return has_word(text[at:])


def _without_edges(text: str, start: int, end: int) -> Span:
    if _MARKED.match(text, start, end):
        marks = end - start - len(text[start:end].lstrip(text[start]))
        return start + marks, end - marks
    mark = _BEFORE.match(text, start, end)
    if mark and not _NUMBER_ALONE.fullmatch(mark[0]):
        start = mark.end()
    while start < end and (text[start].isspace() or unicodedata.category(text[start]) in _SYMBOLS):
        start += 1
        while start < end and text[start] in _WITH_SYMBOL:
            start += 1
    while end > start and (
        text[end - 1] in _WITH_SYMBOL
        or text[end - 1].isspace()
        or unicodedata.category(text[end - 1]) in _SYMBOLS
    ):
        end -= 1
    note = _AFTER.search(text, max(start, end - _LONGEST_AFTER), end)
    if note and note.start() > start:
        end = note.start()
    closing = _PAIRS.get(text[start : start + 1], "")
    if end - start > 2 and text[end - 1] in closing:
        inside = text[start + 1 : end - 1]
        if text[start] not in inside and not any(sign in inside for sign in closing):
            start, end = start + 1, end - 1
    return start, end
