"""Patterns of what counts as code in any text."""

import re

_AMOUNT = r"(?<![\w.,:/-])\d++(?:[.,]\d++)*+"
_SYMBOL = (  # literally, since JavaScript writes long codes in another way
    "[\U0001f000-\U0001faff\u2190-\u21ff\u2300-\u23ff\u25a0-\u27bf\u2b00-\u2bff\u00a9\u00ae\u2122]"
    "[\ufe0e\ufe0f\U0001f3fb-\U0001f3ff]*+"
)

USUAL = (
    r"(?<![A-Za-z\d+.-])[A-Za-z][A-Za-z\d+.-]{1,15}://"
    r"[^\s<>\"'“”]*[^\s<>\"'“”.,;:!?)\]}、。，」』]",
    r"www\.[^\s<>\"'“”]*[^\s<>\"'“”.,;:!?)\]}、。，」』]",
    r"(?<![\w.+-])(?:mailto:)?[\w.+-]++@[\w-]++(?:\.[\w-]++)+",
    r"(?<![\w@.-])(?:[A-Za-z\d][A-Za-z\d-]{0,62}\.){1,4}"
    r"(?:com|org|net|edu|gov|io|dev|app|info|eu|kr|jp|cn|de|fr|uk)(?![\w-])"
    r"(?:/[\w./?&=#%+-]*[\w/])?",
    r"\{\{[^{}]*\}\}",
    r"\{\s?\w+\s?,\s?choice\s?,(?:[^{}]|\{[^{}]*\})*+\}",
    r"\$t\([^()]*\)|(?<![\w@.])@(?:\.\w+)?:(?:[\w.]*\w|\{[^{}]*\})",  # other messages
    r"\[\[[^\[\]]*\]\]",
    r"\{[%#][^{}]*[%#]\}",
    r"<%[^<>%]*%>",
    r"[$%#]\{[^{}]*\}",
    r"\{[^{}\s]*\{[^{}\s]*\}[^{}\s]*\}",
    r"\{[^{}\s]*\}",
    r"\{[\w.\[\]]*(?:![rsa])?:(?:.?[<>=^])?[-+ ]?#?0?\d*+[,_]?(?:\.\d+)?[b-gosxXEFGn%]?\}",
    r"\{\s?\w+\s?,\s?(?:number|date|time|spellout|ordinal|duration|list)\b[^{}]*\}",
    r"%\([A-Za-z_]\w*\)[#0+-]*+\d*+(?:\.\d+)?[diouxXeEfFgGcrsa]",
    r"%(?:\d+\$)?+[0+#'-]*+(?:\d++|\*)?+(?:\.(?:\d++|\*))?+(?:hh|ll|[hlLqjzt])?+"
    r"[diouxXeEfFgGaAcspn@](?![A-Za-z])",
    # "% d" where it is no percentage.
    r"(?<![\w%])(?<!\d\s)% [+0-]*+\d*+(?:\.\d+)?[diouxXeEfFgG](?![A-Za-z'’])",
    r"%L?[1-9]\d?(?![\w$%])",
    r"%%|%[A-Z][A-Z0-9_]+%",
    r"\$[A-Za-z_]\w+\b",
    r"(?<![\w:]):[a-z][\w-]++:?(?![\w:])",  # a variable, an emoji by its name
    r"&(?:[A-Za-z]\w{1,30}|#\d+|#x[0-9A-Fa-f]+);",
    r"(?<![\w@.])@[A-Za-z_]\w++(?:\.\w++)*+",  # a person, a topic
    r"(?<![\w&#])#[^\W\d]\w*+",
    r"(?<![\w/.~])(?:~|\.\.?)?/(?:[\w.@+-]++/)++[\w.@+-]*+",  # paths of files
    r"(?<![\w/.~])~/[\w.@+-]*\w",
    r"(?<!\w)[A-Za-z]:\\[^\s<>\"'|?*]*[^\s<>\"'|?*.,;:!)\]]",
    r"(?<![\w.-])(?:\*|[A-Za-z\d_-]++)(?:\.[A-Za-z\d_-]++)*\.(?:txt|md|pdf|docx?|xlsx?|pptx?|csv|tsv|json|"
    r"xml|ya?ml|toml|ini|html?|css|jsx?|tsx?|py|sh|exe|zip|gz|tar|log|sql|png|jpe?g|gif|svg|mp[34]|wav)"
    r"(?![\w-])",
    r"(?<!\w)[A-Za-z]\w*_\w+|(?<!\w)__\w+__(?!\w)",  # names in programs
    r"(?<![\w.])[A-Za-z_][\w.]*+\(\)",
    r"(?<![\w-])--[A-Za-z][\w-]++(?:=[^\s,;]+)?",
    r"(?<!\w)(?:Ctrl|Control|Cmd|Command|Alt|Option|Shift|Meta|Win)(?:[+-]\w++)++",  # keys
    r"(?<![\w.])v\d++(?:\.\d++)++(?:-[\w.]*\w)?+",  # versions
    r"(?<![\w.])\d++(?:\.\d++){2}-[A-Za-z][\w.]*\w",
    r"(?<![\w-])\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?(?!\w)",
    r"(?<![\w:])(?=[\d:]*(?:[a-f]|::))(?:[\da-f]{0,4}:){2,7}[\da-f]{0,4}(?![\w:])",  # of a network
    r"(?<!\w)0x[\da-fA-F]+(?!\w)|(?<![\w.])\d++(?:\.\d++)?[eE][-+]?\d+(?![\w-])",
    r"(?<![\w`])`[^`]{1,80}`(?![\w`])",
    r"(?<!\w)ISBN(?:-1[03])?:? ?[\dX][\dX-]{8,16}(?!\w)",
    r"(?<!\w)[\da-fA-F]{8}-(?:[\da-fA-F]{4}-){3}[\da-fA-F]{12}(?!\w)",  # a key
    r"(?<![\w-])(?=\d*[a-f])(?=[a-f]*\d)[\da-f]{7,64}(?![\w-])",
    r"(?<![\w+])(?:\+\d{1,3}[ -]?)?+\(\d{2,5}\)[ -]?\d{3,4}[ -]\d{3,4}(?!\d)",  # telephones
    r"(?<![\w+])\+\d{1,3}(?:[ -]\d{1,5}){2,6}+(?!\d)",
    r"(?<![\w$])(?:[A-Z]{1,2}\$|[$€£¥₩₹₽₺₫฿₴]|(?:USD|EUR|GBP|JPY|KRW|CNY|CHF)(?=\s?\d))"
    r"\s?\d++(?:[.,]\d++)*+(?:(?:[KMB]|bn)(?!\w))?",  # amounts, shares, degrees
    r"(?<![\w.,:/])[-−]?(?:\d{1,3}(?:[ \u00a0\u202f]\d{3})++|\d++)(?:[.,]\d++)*+[ \u00a0\u202f]?"
    r"(?:%%|%(?![A-Za-z])|[$€£¥₩₹₽₺₫฿₴‰℃]|°[CF]?|(?:USD|EUR|GBP|JPY|KRW|CNY|CHF)(?!\w))",
    _AMOUNT
    + r"[ \u00a0\u202f]?(?:km|cm|mm|nm|kg|mg|ml|[kKMGT]B|[kMG]?Hz|kWh?|km/h|mph|kcal|dB|px|dpi)"
    r"(?![\w/])",
    _AMOUNT
    + r"(?!s|st|nd|rd|th|er|re|am|pm)[A-Za-zµΩ]{1,3}(?:/[A-Za-z]{1,3})?(?![\w'’-])",  # 5km/h, 3D
    r"(?<!\w)\d{1,2}\s?[hH]\s?\d\d(?!\w)",  # a time
    r"(?<![\w-])(?:[A-Z]{1,6}-?\d{1,4}[A-Za-z]?|[A-Z][a-z]?\d[A-Z]\w{0,2})(?![\w-])",  # A4
    _AMOUNT + r"(?:[–—~〜～×]\d++(?:[.,]\d++)*+)+(?!\w)|" + _AMOUNT + r"\s?[x×]\s?\d+(?!\w)",
    r"(?<![\w.,])\d*+[½¼¾⅐-⅞]|(?<!\w)\d++(?:\^[-−]?\d+|⁻?[⁰¹²³⁴-⁹]+)",
    r"(?:[#№§¶]|§§)\s?\d++(?:[.,-]\d++)*+[a-z]?(?!\w)",
    _AMOUNT + r"\+(?!\w)|(?<![\w)\]}.,:/'’%+-])[−±≈~+-]\d++(?![-\d])(?:[.,]\d++)*+(?!\w|\s?[%€$])",
    "[\U0001f1e6-\U0001f1ff]{2}|" r"[0-9#*]\ufe0f?\u20e3|" + _SYMBOL + rf"(?:\u200d{_SYMBOL})*+",
    r"(?<!\w)(?:[①-⓿❶-➓㈠-㊿]|[Ⅰ-ↈ]+|[IVX]{2,7})(?![\w'’])",
    r"(?<![\w.,:/-])(?:\d{1,3}(?: \d{3})+|\d{2,4} \d{3,4} \d{4})(?!\w|[ .,]\d)",
)
"""What counts as code in any text, as regular expressions."""

NO_WORDS = (
    r"(?<=\d)(?:st|nd|rd|th|[AaPp]\.?[Mm])\b|(?<=\d\s)[AaPp]\.?[Mm]\b",
    r"\b(?:[A-Za-z]|[IVX]{2,}|[ivx]{2,}|[A-Za-z]+[a-z][A-Z]\w*)\b",
    r"(?<!\w)[가나다라마바사아자차카타파하](?=[.)])",
)
"""What is no word to translate where nothing else is: PM, an answer's letter, XIV, fooBar."""

_PLAIN_LETTER = "A-Za-zÀ-ÖØ-öø-ɏ가-힣"
_PLAIN_WORD = (
    rf"(?![IVX]{{2,7}}(?![{_PLAIN_LETTER}]))(?!(?:Ctrl|Control|Cmd|Command|Alt|Option|Shift|Meta|Win)-)"
    rf"[{_PLAIN_LETTER}]{{1,60}}+"
)
PLAIN_SENTENCE = re.compile(rf"{_PLAIN_WORD}(?:(?:[-'’]|[,;]? ){_PLAIN_WORD})*+[.!?]?+")
"""Words, commas and a full stop, without any code: most lines are so, and need no other pattern."""

OWN_WORD = re.compile(r"(?<!\w)(?![ivx]+(?!\w))[a-zà-öø-ÿ가-힣]{2,}(?!\w)")
"""In a plain sentence: a word that NO_WORDS does not have."""
