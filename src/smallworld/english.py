"""English words: plurals, verb forms, articles and number names."""

from dataclasses import dataclass

VOWEL_LETTERS = "aeiou"
# Words whose first sound is not what their first letter says.
VOWEL_SOUNDS = ("hour", "honest")
CONSONANT_SOUNDS = ("uni", "use", "euro", "one", "ukulele")

UNITS = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
]
TENS = ["zero", "ten", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]


def with_s(word: str) -> str:
    """The word with the -s of the plural and of the third person: dogs, boxes, babies."""
    if word.endswith(("s", "x", "z", "ch", "sh")):
        return word + "es"
    if word.endswith("y") and word[-2] not in VOWEL_LETTERS:
        return word[:-1] + "ies"
    return word + "s"


def article(word: str) -> str:
    """a or an, by the sound that the next word begins with."""
    if word.startswith(VOWEL_SOUNDS):
        return "an"
    vowel = word[0].lower() in VOWEL_LETTERS and not word.startswith(CONSONANT_SOUNDS)
    return "an" if vowel else "a"


def number_name(number: int) -> str:
    """1 to 99 in words: twelve, thirty, twenty-one."""
    if number < len(UNITS):
        return UNITS[number]
    name = TENS[number // 10]
    return f"{name}-{UNITS[number % 10]}" if number % 10 else name


FINAL_STRESS = ("begin", "forget")


def _doubles(base: str) -> bool:
    """Whether the last letter is doubled: stop, stopping; but open, opening; fix, fixing."""
    if base in FINAL_STRESS:
        return True
    if len(base) < 3 or base[-1] in VOWEL_LETTERS + "wxy" or base[-2] not in VOWEL_LETTERS:
        return False
    return sum(letter in VOWEL_LETTERS for letter in base) == 1


@dataclass(frozen=True, eq=False)
class VerbForms:
    """The five forms of an English verb: read, reads, read, read, reading."""

    base: str
    third: str
    past: str
    participle: str
    gerund: str

    @classmethod
    def of(cls, written: str) -> "VerbForms":
        """The forms of "base" (regular) or "base/past/participle", or "base/past" for both."""
        base, *irregular = written.split("/")
        stem = base + base[-1] if _doubles(base) else base
        if base.endswith("ie"):
            gerund = base[:-2] + "ying"
        elif base.endswith("e") and not base.endswith("ee"):
            gerund = base[:-1] + "ing"
        else:
            gerund = stem + "ing"
        if irregular:
            past, participle = irregular[0], irregular[-1]
        elif base.endswith("e"):
            past = participle = base + "d"
        elif base.endswith("y") and base[-2] not in VOWEL_LETTERS:
            past = participle = base[:-1] + "ied"
        else:
            past = participle = stem + "ed"
        third = {"have": "has", "go": "goes", "do": "does"}.get(base) or with_s(base)
        return cls(base, third, past, participle, gerund)


@dataclass(frozen=True, eq=False)
class Grades:
    """The three grades of an English adjective: big, bigger, biggest."""

    positive: str
    comparative: str
    superlative: str

    @classmethod
    def of(cls, written: str) -> "Grades":
        """The grades of "big/bigger/biggest", or of "famous", which takes more and most."""
        positive, *others = written.split("/")
        comparative, superlative = others or (f"more {positive}", f"most {positive}")
        return cls(positive, comparative, superlative)
