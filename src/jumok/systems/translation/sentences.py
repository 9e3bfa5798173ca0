"""Languages, the sentences of a text, and where a text that is too long is cut.

A full stop ends a sentence unless it belongs to an abbreviation, an initial, an ordinal or a
number; a question or exclamation mark ends one unless the text continues in lower case. After the
marks of Chinese and Japanese no space is needed. Whitespace stays with the sentence before it, so
the sentences together are the line. `benchmarks/sentences.py` measures the errors.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import pairwise
from statistics import median_low

Span = tuple[int, int]

_CODES = """
afr af amh am ara ar arb ar asm as aze az azj az bak ba bel be ben bn bod bo bos bs bre br bul bg
cat ca ces cs cze cs cmn zh cym cy dan da deu de dzo dz ell el eng en epo eo est et ekk et eus eu
ewe ee fao fo fas fa per fa pes fa prs fa fij fj fin fi fra fr fre fr fry fy ful ff fuv ff gla gd
gle ga glg gl grn gn ger de guj gu hat ht hau ha heb he hin hi hrv hr hun hu hye hy ibo ig ind id
isl is ita it jav jv jpn ja kan kn kas ks kat ka kaz kk khm km kik ki kin rw kir ky kor ko kur ku
kmr ku lao lo lat la lav lv lvs lv lim li lin ln lit lt ltz lb lug lg mal ml mar mr mkd mk mlg mg
plt mg mlt mt mon mn khk mn mri mi msa ms zsm ms mya my nep ne npi ne nld nl dut nl nno nn nob nb
nor no nya ny oci oc ori or ory or orm om gaz om pan pa pol pl por pt pus ps pbt ps ron ro rum ro
run rn rus ru sag sg san sa sin si slk sk slv sl smo sm sna sn snd sd som so sot st spa es sqi sq
als sq srd sc srp sr ssw ss sun su swa sw swh sw swe sv tah ty tam ta tat tt tel te tgk tg tgl tl
tha th tir ti ton to tsn tn tso ts tuk tk tur tr twi tw uig ug ukr uk urd ur uzb uz uzn uz vie vi
wol wo xho xh yid yi ydd yi yor yo yue zh zho zh chi zh zul zu
"""
_SHORT = dict(zip(_CODES.split()[::2], _CODES.split()[1::2], strict=True))
"""ISO 639-1 codes by those of three letters, of macrolanguages and of their usual members."""

WITHOUT_SPACES = frozenset({"zh", "ja", "th", "lo", "km", "my", "bo", "dz"})
"""Languages written without spaces between words."""


def _word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


# A cluster of marks with the quotes and brackets that close after it; French allows a space before
# the closing quote. Scripts without spaces need none after their own marks.
SENTENCE_MARKS = re.compile(
    r"(?<![.!?…؟।])(?P<mark>[.!?…؟।]++)(?:[\"'”’»›)\]]|[\s]?[»](?=\s))*(?=\s)\s+"
    r"|(?P<wide>[。！？｡]+)[」』”’）》]*\s*"
)
OPENED = re.compile(r"[\"'“‘«‹(\[ ]*")  # may precede a sentence's first letter
START = re.compile(r"[\"'“”‘’„‚«‹(\[¿¡「『（《*–—-]*\s?(?P<first>\S)")
# What precedes a mark: letters and inner stops ("z.B", "U.S"), or digits.
WORD_BEFORE_MARK = re.compile(
    r"(?P<word>[^\W\d_]{1,24}+(?:[.'’-][^\W\d_]{1,24}+){0,12}|\d[\d.,:]{0,23}+)\Z"
)
NEXT_WORD = re.compile(r"\w+")
REACH = 24  # no abbreviation is longer than that
QUOTATION_GOES_ON = re.compile(r"[とって、，,]")

# Never the end of a sentence: something follows them.
TITLES = {
    "": "dr mr mrs ms prof st vs cf ca approx",
    "en": "messrs mmes rev hon gen col maj capt cpt lt sgt cmdr adm gov sen rep pres supt mt ft "
    "e.g i.e viz al jan feb apr jun jul aug sept sep oct nov dec dept est jr",
    "de": "hr fr frl bzw z.b d.h u.a z.t u.u s.o s.u i.d.r v.a o.ä evtl ggf ggfs inkl exkl vgl sog "
    "bspw geb gest str dipl ing hl nr abs art abb kap bd jh mio mrd tel zzgl zz ev bes insb usf "
    "ehem österr dt engl frz jan feb mär apr jun jul aug sep sept okt nov dez",
    "fr": "m mm mme mlle mgr me pr p.ex c.-à-d av env boul bd ex janv févr avr juil sept oct nov "
    "déc vol chap éd",
}
# The end of a sentence only if a capitalised word follows that often begins one.
ABBREVIATIONS = {
    "": "etc inc ltd co corp bros no nos p pp vol fig figs eq sec ch ed eds",
    "en": "a.m p.m sr ave blvd rd",
    "de": "usw etc u.s.w",
    "fr": "etc p s",
}
# An abbreviation only before a number: "No. 5", "p. 7", "S. 12".
BEFORE_NUMBERS = _word_set("no nos nr p pp s vol fig figs eq sec ch art abs bd kap abb n tel")
BEGINNERS = _word_set(
    "the a an this that these those he she it we they i you my your his her our their there in on "
    "at but and so if when what who how why where then not do did is was as for with after "
    "der die das ein eine er sie es wir ihr ich du mein dein sein dies diese in am im an auf aber "
    "und so wenn was wer wie warum wo dann nicht als für mit nach man "
    "le la les un une il elle on nous vous ils elles je tu mon ton son ce cette ces c j l mais et "
    "si quand que qui comment pourquoi où puis ne dans à au en pour avec après"
)
# Languages in which a number with a full stop is an ordinal: "am 3. Mai".
ORDINALS = frozenset({"de", "da", "no", "nb", "nn", "fi", "cs", "sk", "hu", "sl", "hr", "et", "lv"})

# After a sentence; after a clause; between words. A match ends where the text may be cut. Scripts
# without spaces need none after their own marks. The mark is in a look-behind, not matched: a line
# of a million full stops would otherwise be read a million times.
CUTS = (
    re.compile(r"(?<=[.!?…؟।])[\"'”’»)\]]*\s+|(?<=[。！？｡])[」』”’）]*\s*(?![。！？｡])"),
    re.compile(r"(?<=[,;:،؛–—])[\"'”’»)\]]*\s+|(?<=[、，；：])\s*"),
    re.compile(r"\s+"),
)


def language_code(tag: str) -> str:
    """The short code of a language tag: "zh" for "zh-Hant", "ZH_tw" and "zho_Hans"."""
    code = tag.lower().replace("_", "-").split("-")[0]
    return _SHORT.get(code, code)


def sentences(text: str, language: str = "") -> list[Span]:
    """The start and end of every sentence, in characters; together they are the whole text.

    Args:
        language: a code such as "en", which chooses the abbreviations; "" uses those of all.
    """
    code = language_code(language)
    starts = [0]
    brackets = _bracketed(text)
    capitals = any(letter.isupper() for letter in text)
    for match in SENTENCE_MARKS.finditer(text):
        end = match.end()
        before = bisect_left(brackets, (match.start(), 0)) - 1
        if end == len(text) or (before >= 0 and brackets[before][1] >= end):
            continue
        if match["wide"] is not None:
            ends = _ends_wide(text, match)
        else:
            ends = _mark_ends(text, starts[-1], match, code, capitals)
        if ends:
            starts.append(end)
    return list(zip(starts, [*starts[1:], len(text)], strict=True))


def _ends_wide(text: str, match: re.Match[str]) -> bool:
    """Whether a mark of a wide script ends a sentence.

    A closing bracket may end a quotation inside a sentence: 「はい。」と言った。
    """
    quoted = match.end("wide") < match.end() and text[match.end("wide")] in "」』”’）》"
    return not (quoted and QUOTATION_GOES_ON.match(text, match.end()))


def _mark_ends(text: str, start: int, match: re.Match[str], code: str, capitals: bool) -> bool:
    """Whether a sentence that began at `start` ends with this mark."""
    following = START.match(text, match.end())
    if following is None:
        return False
    first, mark = following["first"], match["mark"]
    # A lower-case letter continues a sentence, but not in text without any capital, nor after a
    # word of a script that has none, such as Hangul; after an ellipsis it does in any text.
    last = text[match.start() - 1 : match.start()]
    cased = capitals and (not last.isalpha() or last.islower() or last.isupper())
    if first.islower() and (cased or mark.endswith("…") or mark.startswith("..")):
        return False
    if not (first.isalnum() or first in "{<%$#@&£€₩_\\"):
        return False
    if mark != ".":
        return True
    before = WORD_BEFORE_MARK.search(text, max(start, match.start() - REACH), match.start())
    if before is None:
        return True
    return _stop_ends(before["word"], text, start, before.start(), following, code)


def _stop_ends(
    word: str, text: str, start: int, place: int, following: re.Match[str], code: str
) -> bool:
    """Whether a full stop after `word` ends a sentence."""
    first = following["first"]
    if word[0].isdigit():
        if OPENED.fullmatch(text, start, place):
            return False  # the number of a list's item
        ordinal = code in ORDINALS and len(word) < 3
        return not (ordinal or (code == "ko" and first.isdigit()))
    lowered = word.lower()
    titles, abbreviations = _abbreviations_of(code)
    if first.isdigit() and lowered in BEFORE_NUMBERS:
        return False
    if lowered in titles:
        return False
    next_word = NEXT_WORD.match(text, following.start("first"))
    begins = next_word is not None and next_word[0].lower() in BEGINNERS
    if lowered in abbreviations - BEFORE_NUMBERS or "." in word:
        return begins
    if len(word) == 1 and word.isupper():  # an initial, but for "So do I."
        return begins or (word == "I" and code in ("", "en"))
    if len(word) == 1 and code in ("", "de") and word.islower():  # z. B., d. h., u. a.
        return begins
    return True


def common_sentences(texts: Iterable[str], language: str = "") -> int | None:
    """The usual number of sentences in a text: the lower median; None if there is no text."""
    counts = [len(sentences(text, language)) for text in texts]
    return median_low(counts) if counts else None


@cache
def _abbreviations_of(code: str) -> tuple[frozenset[str], frozenset[str]]:
    codes = ("", code) if code in TITLES and code else tuple(TITLES)
    titles, abbreviations = (
        _word_set(" ".join(table[each] for each in codes)) for table in (TITLES, ABBREVIATIONS)
    )
    return titles, abbreviations


def _bracketed(text: str) -> list[Span]:
    """The outermost spans between matching brackets; no sentence ends inside them."""
    pairs = {"(": ")", "[": "]", "（": "）", "「": "」", "『": "』", "《": "》"}
    spans: list[Span] = []
    waiting: list[tuple[str, int]] = []
    for place, letter in enumerate(text):
        if letter in pairs:
            waiting.append((pairs[letter], place))
        elif waiting and letter == waiting[-1][0]:
            _, opened = waiting.pop()
            while spans and spans[-1][0] > opened:
                spans.pop()
            spans.append((opened, place))
    return spans


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
