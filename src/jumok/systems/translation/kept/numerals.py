"""How the digits 0 to 9 are written as words: a translation of "3 dogs" may say "three dogs".

Of all languages together: a text is not asked for its own. What is not here ("a pair of dogs") is
not known to be a number.
"""

import re
from collections.abc import Iterator
from functools import cache

from jumok.systems.translation.sentences import Span

_WORDS = """
0 zero no none null keine? zéro cero nul nenhum 영 공 零 〇 ゼロ ноль нуль
1 one an? once single first eine?[mnrs]? eins erste[mnrs]? une? premi(?:er|ère) une? un[ao]?
1 primer[ao]? uno prim[ao] um uma een één eerste один одна одно первы[йхм]
2 two twice both second zwei(?:te[mnrs]?)? beiden? deux deuxième second[eo]? dos segund[ao] due
2 dois duas twee tweede два две второ[йм] пара
3 three thrice third drei dritte[mnrs]? trois troisième tres tercer[ao]? tre terz[ao] três drie
3 derde три трет(?:ий|ья|ье)
4 four fourth vier(?:te[mnrs]?)? quatre quatrième cuatro cuart[ao] quattro quatro vierde четыре
5 five fifth fünf(?:te[mnrs]?)? cinq cinquième cinco quint[ao] cinque vijf пять
6 six sixth sechs(?:te[mnrs]?)? sixième seis sext[ao] sei zes шесть
7 seven seventh sieben sieb(?:en)?te[mnrs]? sept septième siete sette sete zeven семь
8 eight eighth achte?[mnrs]? huit huitième ocho otto oito acht восемь
9 nine ninth neun(?:te[mnrs]?)? neuf neuvième nueve nove negen девять
"""
_KOREAN = {
    "1": "하나 한 첫 하루", "2": "둘 두 이틀", "3": "셋 세 석 서 사흘", "4": "넷 네 넉 너 나흘",
    "5": "다섯 닷새", "6": "여섯 엿새", "7": "일곱 이레", "8": "여덟 여드레", "9": "아홉 아흐레",
}  # fmt: skip
_SINO_KOREAN = dict(zip("123456789", "일이삼사오육칠팔구", strict=True))
_CHINESE = dict(zip("123456789", "一二三四五六七八九", strict=True)) | {"2": "二两兩"}
_NATIVE = "째|마리|개|명|분|사람|권|잔|장|대|병|번|살|시|달|벌|채|그루|송이|자루|조각|가지|배|곳"
_COUNTERS = "년|월|일|분|초|층|호|번|주|학년|개월|원|등|위|세|대|회|과|장|시간|인|점|도|배|%"


@cache
def _pattern(digit: str) -> re.Pattern[str]:
    words = [word for line in _WORDS.split("\n") if line[:1] == digit for word in line.split()[1:]]
    spelt = [rf"(?<!\w)(?:{'|'.join(words)})(?!\w)"]
    if digit in _KOREAN:
        # A syllable is a number only as a word of its own or before a counter, and not in 세상.
        short = "|".join(word for word in _KOREAN[digit].split() if len(word) == 1) or "(?!)"
        long = "|".join(word for word in _KOREAN[digit].split() if len(word) > 1)
        spelt += [rf"(?<!\w)(?:{short})(?:{_NATIVE}|(?!\w))", rf"(?<!\w)(?:{long})"]
        spelt += [rf"(?<!\w){_SINO_KOREAN[digit]} ?(?:{_COUNTERS})", f"[{_CHINESE[digit]}]"]
    return re.compile("|".join(spelt), re.IGNORECASE)


def numeral_spans(digit: str, text: str) -> Iterator[Span]:
    """The spans of words that mean a digit."""
    return (match.span() for match in _pattern(digit).finditer(text))
