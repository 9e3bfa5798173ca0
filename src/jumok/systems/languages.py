"""Language codes, and languages without spaces."""

_SHORT = {"zho": "zh", "cmn": "zh", "yue": "zh", "jpn": "ja", "kor": "ko"}

WITHOUT_SPACES = frozenset({"zh", "ja", "th", "lo", "km", "my", "bo", "dz"})
"""Languages written without spaces between words."""


def language_code(tag: str) -> str:
    """The short code of a language tag: "zh" for "zh-Hant", "ZH_tw" and "zho"."""
    code = tag.lower().replace("_", "-").split("-")[0]
    return _SHORT.get(code, code)
