"""The script of a text, and the languages that are written in it.

This is no identification of languages: among the languages that the server translates from, those
written in the text's script are named. English and German are both Latin, so the confidence is
divided among all such languages.
"""

import unicodedata
from collections import Counter
from collections.abc import Sequence

LONGEST_SAMPLE = 2_000
"""Characters of a text that are counted."""

LANGUAGE_NAMES = {
    "ar": "Arabic", "bg": "Bulgarian", "bn": "Bengali", "ca": "Catalan", "cs": "Czech",
    "da": "Danish", "de": "German", "el": "Greek", "en": "English", "eo": "Esperanto",
    "es": "Spanish", "et": "Estonian", "eu": "Basque", "fa": "Persian", "fi": "Finnish",
    "fr": "French", "ga": "Irish", "gl": "Galician", "he": "Hebrew", "hi": "Hindi",
    "hu": "Hungarian", "id": "Indonesian", "it": "Italian", "ja": "Japanese", "ko": "Korean",
    "lt": "Lithuanian", "lv": "Latvian", "ms": "Malay", "nb": "Norwegian", "nl": "Dutch",
    "pl": "Polish", "pt": "Portuguese", "ro": "Romanian", "ru": "Russian", "sk": "Slovak",
    "sl": "Slovenian", "sq": "Albanian", "sr": "Serbian", "sv": "Swedish", "th": "Thai",
    "tl": "Tagalog", "tr": "Turkish", "uk": "Ukrainian", "ur": "Urdu", "vi": "Vietnamese",
    "zh": "Chinese",
}  # fmt: skip

SCRIPT_LANGUAGES = {
    "ARABIC": ("ar", "fa", "ur"),
    "BENGALI": ("bn",),
    "CJK": ("zh", "ja"),
    "CYRILLIC": ("bg", "ru", "sr", "uk"),
    "DEVANAGARI": ("hi",),
    "GREEK": ("el",),
    "HANGUL": ("ko",),
    "HEBREW": ("he",),
    "HIRAGANA": ("ja",),
    "KATAKANA": ("ja",),
    "THAI": ("th",),
}
"""Languages by the first word of their letters' Unicode names; all others are counted as Latin."""

_ELSEWHERE = frozenset(code for codes in SCRIPT_LANGUAGES.values() for code in codes)


def name_of(code: str) -> str:
    """The English name of a language; its code where the name is not known."""
    return LANGUAGE_NAMES.get(code, code)


def likely_languages(text: str, known: Sequence[str]) -> list[tuple[str, float]]:
    """The languages among `known` that the text's script fits, most likely first.

    Returns:
        Codes, each with a confidence of 0 to 100: the share of its letters, divided by the number
        of languages of `known` with the same script.
    """
    scripts = Counter(
        unicodedata.name(sign, "").split(" ")[0] for sign in text[:LONGEST_SAMPLE] if sign.isalpha()
    )
    letters = scripts.total()
    shares: dict[str, float] = {}
    for script, count in scripts.items():
        fitting = [code for code in known if _is_written(code, script)]
        for code in fitting:
            shares[code] = shares.get(code, 0.0) + 100.0 * count / letters / len(fitting)
    return sorted(shares.items(), key=lambda pair: (-pair[1], known.index(pair[0])))


def _is_written(code: str, script: str) -> bool:
    if script in SCRIPT_LANGUAGES:
        return code in SCRIPT_LANGUAGES[script]
    return script == "LATIN" and code not in _ELSEWHERE
