"""Korean words: syllables and their letters, particles, conjugation and numbers.

A stem is conjugated through three bases, the way textbooks of Korean do it:

- *plain*, before endings that begin with a consonant (듣-고, 돕-고);
- *eu*, before endings that may begin with 으 (들으-면, 도우-면);
- *infinitive*, the 아/어 form (들어, 도와), to which 요, 서 and the past ㅆ are added.

An irregular verb is irregular in how its bases are made and nowhere else. Past and honorific
stems are stems again, so endings stack up: 읽 -> 읽으시 -> 읽으셨 -> 읽으셨습니다.
"""

from dataclasses import dataclass
from functools import cache

FIRST_SYLLABLE = 0xAC00
INITIALS = "ㄱㄲㄴㄷㄸㄹㅁㅂㅃㅅㅆㅇㅈㅉㅊㅋㅌㅍㅎ"
VOWELS = "ㅏㅐㅑㅒㅓㅔㅕㅖㅗㅘㅙㅚㅛㅜㅝㅞㅟㅠㅡㅢㅣ"
FINALS = " ㄱㄲㄳㄴㄵㄶㄷㄹㄺㄻㄼㄽㄾㄿㅀㅁㅂㅄㅅㅆㅇㅈㅊㅋㅌㅍㅎ"

# A stem-final vowel and the 아/어 after it, where the two melt into one: 오+아 = 와, 주+어 = 줘.
MELTED = {"ㅏ": "ㅏ", "ㅓ": "ㅓ", "ㅐ": "ㅐ", "ㅔ": "ㅔ", "ㅕ": "ㅕ"} | {
    "ㅗ": "ㅘ",
    "ㅜ": "ㅝ",
    "ㅣ": "ㅕ",
    "ㅚ": "ㅙ",
}


def letters(syllable: str) -> tuple[str, str, str]:
    """The initial, vowel and final letter of one syllable; the final is ' ' where there is none."""
    code = ord(syllable) - FIRST_SYLLABLE
    return INITIALS[code // 588], VOWELS[code % 588 // 28], FINALS[code % 28]


def syllable(initial: str, vowel: str, final: str = " ") -> str:
    """The syllable of an initial, a vowel and a final letter (' ' = none)."""
    code = INITIALS.index(initial) * 588 + VOWELS.index(vowel) * 28 + FINALS.index(final)
    return chr(FIRST_SYLLABLE + code)


def final(word: str) -> str:
    """The final consonant of a word, ' ' where it ends in a vowel."""
    return letters(word[-1])[2]


def with_final(word: str, consonant: str) -> str:
    """The word with another final consonant in its last syllable (' ' = none)."""
    initial, vowel, _ = letters(word[-1])
    return word[:-1] + syllable(initial, vowel, consonant)


# Case -> (after a consonant, after a vowel).
PARTICLES = {
    "topic": ("은", "는"),
    "subject": ("이", "가"),
    "object": ("을", "를"),
    "and": ("과", "와"),
    "or": ("이나", "나"),
    "by": ("으로", "로"),
    "towards": ("으로", "로"),
    "vocative": ("아", "야"),
    "to": ("에게", "에게"),
    "to honoured": ("께", "께"),
    "subject honoured": ("께서", "께서"),
    "topic honoured": ("께서는", "께서는"),
    "also": ("도", "도"),
    "only": ("만", "만"),
    "of": ("의", "의"),
    "than": ("보다", "보다"),
    "at": ("에", "에"),
    "acting at": ("에서", "에서"),
    "from": ("에서", "에서"),
    "until": ("까지", "까지"),
    "with": ("과", "와"),
    "bare": ("", ""),
}


@cache
def with_particle(word: str, case: str) -> str:
    """The word with the particle of a case (a key of PARTICLES) in the form its ending asks for.

    (으)로 treats a final ㄹ like a vowel: 지하철로, 연필로.
    """
    after_consonant, after_vowel = PARTICLES[case]
    consonant = final(word)
    vowel_like = consonant == " " or (case in ("by", "towards") and consonant == "ㄹ")
    return word + (after_vowel if vowel_like else after_consonant)


def harmonious(vowel: str) -> str:
    """ㅏ after a bright vowel, ㅓ after any other."""
    return "ㅏ" if vowel in "ㅏㅗㅑ" else "ㅓ"


def infinitive(plain: str, irregular: str) -> str:
    """The 아/어 form of a stem of one of the classes that `Stem.of` lists."""
    if plain[-1] == "하":
        return plain[:-1] + "해"
    before, (initial, vowel, consonant) = plain[:-1], letters(plain[-1])
    if irregular in ("ㅂ", "ㅂ와"):
        return with_final(plain, " ") + ("와" if irregular == "ㅂ와" else "워")
    if irregular == "ㄷ":
        return with_final(plain, "ㄹ") + syllable("ㅇ", harmonious(vowel))
    if irregular == "ㅅ":
        return with_final(plain, " ") + syllable("ㅇ", harmonious(vowel))
    if irregular == "ㅎ":
        return before + syllable(initial, "ㅒ" if vowel == "ㅑ" else "ㅐ")
    if irregular == "러":
        return plain + "러"
    if irregular == "르":
        return with_final(before, "ㄹ") + syllable("ㄹ", harmonious(letters(before[-1])[1]))
    if consonant != " ":
        return plain + syllable("ㅇ", harmonious(vowel))
    if vowel == "ㅡ":
        return before + syllable(initial, harmonious(letters(before[-1])[1]) if before else "ㅓ")
    if vowel in MELTED and plain != "피":  # 피어 keeps its two syllables: 펴 is from 펴다
        return before + syllable(initial, MELTED[vowel])
    return plain + "어"


@dataclass(frozen=True, eq=False)
class Stem:
    """What stays of a verb or adjective when 다 is taken off, with its bases.

    kind: "verb" (-는다, -는), "adjective" (-다, -은), "existence" (있다, 없다: -다 but -는),
        "copula" (이다), "past" (-다), "honorific" (a verb whose -아요 is -세요) or
        "honorific adjective" (as well, but -다 and -은).
    """

    plain: str
    eu: str
    infinitive: str
    kind: str

    @classmethod
    def of(cls, plain: str, kind: str = "verb", irregular: str = "") -> "Stem":
        """The stem of a dictionary form without 다.

        irregular: "" (regular, 하다, 으-dropping and ㄹ-dropping, which show in the stem itself),
            "ㅂ" (굽다), "ㅂ와" (돕다), "ㄷ" (듣다), "ㅅ" (짓다), "ㅎ" (빨갛다), "르" (부르다)
            or "러" (푸르다).
        """
        consonant = final(plain)
        if irregular in ("ㅂ", "ㅂ와"):
            eu = with_final(plain, " ") + "우"
        elif irregular == "ㄷ":
            eu = with_final(plain, "ㄹ") + "으"
        elif irregular == "ㅅ":
            eu = with_final(plain, " ") + "으"
        elif irregular == "ㅎ":
            eu = with_final(plain, " ")
        else:
            eu = plain if consonant in " ㄹ" else plain + "으"
        return cls(plain, eu, infinitive(plain, irregular), kind)

    def past(self) -> "Stem":
        """The stem of the past: 읽었, 갔, 도왔."""
        past = with_final(self.infinitive, "ㅆ")
        return Stem(past, past + "으", past + "어", "past")

    def honorific(self) -> "Stem":
        """The stem that honours the subject: 읽으시, 가시, 만드시."""
        kind = "honorific" if self.kind == "verb" else "honorific adjective"
        melts = self.kind == "copula" and self.infinitive.endswith("여")
        plain = self.plain[:-1] + "시" if melts else attach(self, "-(으)시")
        return Stem(plain, plain, plain[:-1] + "셔", kind)


def copula(noun: str) -> Stem:
    """The noun with 이다 as a stem: 의사이, 학생이; the past melts after a vowel (의사였)."""
    vowel_final = final(noun) == " "
    return Stem(noun + "이", noun + "이", noun + ("여" if vowel_final else "이어"), "copula")


NOT_BEING = Stem("아니", "아니", "아니어", "copula")


def attach(stem: Stem, ending: str) -> str:
    """The stem with an ending in dictionary notation.

    "-고" takes the plain base, "-(으)면" the eu base, "-아서" the infinitive;
    "-(스)ㅂ니다" and "-(느)ㄴ다" choose by the last letter and the kind.
    """
    if ending.startswith("-아"):
        return stem.infinitive + ending[2:]
    if ending.startswith("-(으)"):
        return _after_eu(stem, ending[4:])
    if ending.startswith("-(스)ㅂ"):
        light = final(stem.plain) in " ㄹ"
        base = with_final(stem.plain, "ㅂ") if light else stem.plain + "습"
        return base + ending[5:]
    if ending.startswith("-(느)ㄴ다"):
        return _narrated(stem) + ending[6:]
    return _shed(stem.plain, ending[1:]) + ending[1:]


def _after_eu(stem: Stem, rest: str) -> str:
    if rest[0] in "ㄴㄹㅂ":
        return with_final(stem.eu, rest[0]) + rest[1:]
    return _shed(stem.eu, rest) + rest


def _shed(base: str, rest: str) -> str:
    """The base without its final ㄹ before ㄴ, ㅅ and ㅂ: 살 + 는 = 사는, 만들 + 시 = 만드시."""
    if final(base) == "ㄹ" and letters(rest[0])[0] in "ㄴㅅㅂ":
        return with_final(base, " ")
    return base


def _narrated(stem: Stem) -> str:
    """The plain written present: 읽는다, 간다, 산다; 크다, 있다, 읽었다."""
    if stem.kind not in ("verb", "honorific"):
        return stem.plain + "다"
    if final(stem.plain) in " ㄹ":
        return with_final(stem.plain, "ㄴ") + "다"
    return stem.plain + "는다"


@cache
def adnominal(stem: Stem) -> str:
    """The present form before a noun: 읽는 (사람), 큰 (집), 있는, 의사인."""
    if stem.kind in ("verb", "existence", "honorific"):
        return attach(stem, "-는")
    return attach(stem, "-(으)ㄴ")


NATIVE_UNITS = ["", "한", "두", "세", "네", "다섯", "여섯", "일곱", "여덟", "아홉"]
NATIVE_TENS = ["", "열", "스물", "서른", "마흔", "쉰", "예순", "일흔", "여든", "아흔"]
SINO_DIGITS = ["", "일", "이", "삼", "사", "오", "육", "칠", "팔", "구"]


def native_number(number: int) -> str:
    """1 to 99 as counted with native counters (마리, 명, 권, 시): 한, 두, 열한, 스무, 스물한."""
    if number == 20:
        return "스무"
    return NATIVE_TENS[number // 10] + NATIVE_UNITS[number % 10]


def sino_number(number: int) -> str:
    """1 to 9,999 in Sino-Korean (분, 년, 층): 일, 십이, 삼십, 백오."""
    written = ""
    for value, name in ((1000, "천"), (100, "백"), (10, "십")):
        digit, number = divmod(number, value)
        if digit:
            written += ("" if digit == 1 else SINO_DIGITS[digit]) + name
    return written + SINO_DIGITS[number]


NATIVE_DAYS = [
    "",
    "하루",
    "이틀",
    "사흘",
    "나흘",
    "닷새",
    "엿새",
    "이레",
    "여드레",
    "아흐레",
    "열흘",
]


def days(number: int) -> str:
    """A number of days: 이틀, 열흘, and from eleven on 십일 일."""
    return NATIVE_DAYS[number] if number <= 10 else f"{sino_number(number)} 일"
