"""What may follow a noun within its word, and its form after another noun.

Korean writes particles and the copula together with the noun, and some depend on its last sound:
고양이는, but 소년은. French, Italian and Catalan write a short article together with a noun that
begins with a vowel: l'homme, but le médecin. In most languages the end of a noun and the words
around it depend on its gender and case, which are not known of a term.
"""

import re

# After a consonant, after a vowel.
_PARTICLE_FORMS = """
은 는, 이 가, 을 를, 과 와, 으로 로, 으로서 로서, 으로써 로써, 으로부터 로부터, 으로는 로는,
으로도 로도, 이나 나, 이랑 랑, 이든 든, 이든지 든지, 이야말로 야말로, 이야 야, 이다 다,
이에요 예요, 이었 였, 이라고 라고, 이라는 라는
"""
_ALIKE = """
의 도 만 에 에서 에서는 에서도 에는 에도 에게 에게는 에게도 에게서 한테 한테서 께 께서 께서는
까지 까지는 까지도 부터 부터는 보다 보다는 보다도 처럼 같이 마다 밖에 조차 마저 하고 만은 만이
만을 대로 뿐 요 인
"""
_WITH_MORE = ("이에요", "예요", "이었", "였", "입니다", "입니까", "이다", "이고", "이며", "이지만")
"""Endings of the copula that others may follow."""

_UNSURE = frozenset("이가과의도만로나요야다인") | {"라고", "라는"}
"""Many a noun ends with them."""

_FORMS = {
    form: pair for pair in (each.split() for each in _PARTICLE_FORMS.split(",")) for form in pair
}
_WHOLE = frozenset([*_FORMS, *_ALIKE.split()])
PROBES = ("은", "이", "을", "의", "에")
"""Particles that most nouns have somewhere, as they are after a consonant."""

# The last sound of digits and of capitals as they are read; ㄹ is a vowel to (으)로.
_SOUNDS = dict.fromkeys("036", "consonant") | dict.fromkeys("178LR", "liquid")
_SOUNDS |= dict.fromkeys("MN", "consonant")
_LATIN = dict.fromkeys("mn", "consonant") | {"l": "liquid"}
_LIQUID = 8  # ㄹ among the final consonants of a Hangul syllable
_HANGUL = re.compile("[가-힣]+")
_ELIDED = {
    "fr": re.compile(r"(?:[dl]|(?:jus|lors|puis|quel)?qu)['’](?=[^\W\d])", re.IGNORECASE),
    "it": re.compile(r"(?:[dl]|un|[dn]ell|qu?ell|[ds]?all|sull)['’](?=[^\W\d])", re.IGNORECASE),
    "ca": re.compile(r"[dl]['’](?=[^\W\d])", re.IGNORECASE),
}
_ARTICLES = {
    "de": "der die das den dem des ein eine einen einem einer eines",
    "nl": "de het een",
    "en": "the a an",
    "fr": "le la les un une des du",
    "es": "el la los las un una unos unas",
    "it": "il lo la i gli le un uno una",
    "pt": "o a os as um uma uns umas",
    "ca": "el la els les un una uns unes",
}
_VOWELS = "aeiouhyàâäáéèêëíîïóôöúùûü"
_ALWAYS_SO = {"ko", "ja", "zh", "vi", "th", "id", "ms", "lo", "km", "my"}
"""Languages whose words do not depend on the nouns beside them."""

_ARTICLE = re.compile(r"(?<!\w)an? \Z", re.IGNORECASE)
_NOTE = re.compile(r"\([^()]*\)\Z")


def suffixes(word: str, language: str) -> list[str]:
    """What the end of a word may have that is not its noun's; one or several possibilities."""
    possible = []
    for start in range(1, len(word) if language == "ko" else 0):
        rest = word[start:]
        if _HANGUL.fullmatch(rest) and _is_suffix(rest) and fitted(word[:start], rest) == rest:
            possible.append(rest)
            if rest not in _UNSURE:
                return possible
    return ["", *possible]


def fitted(noun: str, suffix: str) -> str:
    """The form that a suffix takes after another noun."""
    begun = suffix if suffix in _FORMS else next(filter(suffix.startswith, _WITH_MORE), "")
    if begun not in _FORMS:
        return suffix
    sound = _last_sound(noun)
    after_consonant, after_vowel = _FORMS[begun]
    as_after_vowel = sound == "vowel" or (sound == "liquid" and after_vowel.startswith("로"))
    return (after_vowel if as_after_vowel else after_consonant) + suffix[len(begun) :]


def elided(word: str, language: str) -> int:
    """How many of the first characters of a word are a short article or the like: l'homme."""
    match = _ELIDED[language].match(word) if language in _ELIDED else None
    return match.end() if match else 0


def is_article(word: str, language: str) -> bool:
    """Whether a word, which a noun may follow, is an article alone."""
    return word.lower() in _ARTICLES.get(language, "").split()


def before_noun(text: str, noun: str, language: str) -> str:
    """A text that ends with a short article, as it is before another noun."""
    if language != "fr" or text[-1:] not in ("'", "’") or noun[0].lower() in _VOWELS:
        return text
    return text[:-1] + "e "  # of the noun's gender nothing is known: le or la


def may_not_fit(text: str, noun: str, language: str) -> bool:
    """Whether the words before or behind a noun may be wrong since it is in the place of another.

    Args:
        text: what precedes it.
    """
    if language == "en":
        article = _ARTICLE.search(text)
        long = noun[0].lower() in "aeiou"
        return article is not None and long != (len(article[0]) == len("an "))
    return language not in _ALWAYS_SO


def _is_suffix(text: str) -> bool:
    return text in _WHOLE or text.startswith(_WITH_MORE)


def _last_sound(noun: str) -> str:
    """ "vowel", "consonant" or "liquid" (ㄹ)."""
    without_note = _NOTE.sub("", noun)
    last = next(filter(str.isalnum, reversed(without_note)), noun[-1])
    if "가" <= last <= "힣":
        final = (ord(last) - ord("가")) % 28
        return "vowel" if not final else "liquid" if final == _LIQUID else "consonant"
    return _SOUNDS.get(last) or _LATIN.get(last, "vowel")
