"""How often a term of a glossary replaces the word that it should, and what else that changes.

    python -m benchmarks.terms MODEL [LINES]

MODEL translates smallworld from English to Korean, or Multi30k from English to German
($JUMOK_DATA/multi30k). In each of LINES sentences that it was not trained on (default: 500), one
noun is given a translation that is another noun: of smallworld, one that smallworld does not have,
or a German one of any gender. What is expected is the plain translation with the noun exchanged,
and, in Korean, with the particle after it as smallworld's own grammar writes it. Lines in
which the plain translation does not have the usual noun once count for the first figures alone.
"""

import re
import sys
from collections.abc import Iterator
from random import Random

from benchmarks.corpus import data_folder
from jumok.evaluation.text import score_text
from jumok.systems.translation.translator import Translator
from smallworld import distinct, pairs
from smallworld.korean import PARTICLES, final
from smallworld.lexicon import ALL_NOUNS

UNSEEN = ["궤짝", "태블릿", "드론", "강좌", "냉장고", "꿀벌", "수달", "라디오", "축구단", "번역기"]
UNSEEN += ["오리발", "유리잔", "대장간", "전기 주전자", "조선 백자"]
GERMAN = """
man Mann, woman Frau, dog Hund, boy Junge, girl Mädchen, shirt Hemd, hat Hut, ball Ball,
street Straße, beach Strand, car Auto, horse Pferd, guitar Gitarre, water Wasser, child Kind,
table Tisch, bench Bank, tree Baum, mountain Berg, snow Schnee, jacket Jacke, camera Kamera,
field Feld, wall Wand, building Gebäude, baby Baby
"""
GERMAN_TERMS = ["Roboter", "Dackel", "Schornstein", "Kompass", "Drohne", "Giraffe", "Bibliothek"]
GERMAN_TERMS += ["Trompete", "Krokodil", "Zelt", "Museum", "Klavier"]
GERMAN_ENDING = r"(?:e?n|e?s|e)?\b"
Row = tuple[str, str, str, str]
"""(sentence, its noun, the usual translation, the term)."""

FORMS = {pair for pair in PARTICLES.values() if pair[0] != pair[1]}
FORMS |= {("이에요", "예요"), ("이었어요", "였어요"), ("이야", "야"), ("이었다", "였다")}


def captions(count: int) -> Iterator[Row]:
    """Sentences of Multi30k."""
    random = Random(1)
    nouns = dict(pair.split() for pair in GERMAN.split(","))
    file = data_folder() / "multi30k" / "test_2016_flickr.en"
    for source in file.read_text("utf-8").splitlines():
        words = re.findall(r"\w+", source.lower())
        found = [word for word in words if word in nouns and words.count(word) == 1]
        if found and count:
            noun = random.choice(found)
            yield source, noun, nouns[noun], random.choice(GERMAN_TERMS)
            count -= 1


def exchanged_german(text: str, usual: str, term: str) -> str | None:
    """As `exchanged`."""
    changed, times = re.subn(rf"\b{usual}{GERMAN_ENDING}", term, text)
    return changed if times == 1 else None


def lines(count: int) -> Iterator[Row]:
    """Sentences of smallworld."""
    random = Random(1)
    korean = sorted({noun.korean for noun in ALL_NOUNS.values()})
    known = {noun.english: noun for noun in ALL_NOUNS.values()}
    for pair in distinct(pairs("test", seed=7)):
        words = re.findall(r"\w+", pair.source)
        nouns = [word for word in words if word in known and words.count(word) == 1]
        if not nouns:
            continue
        noun = known[random.choice(nouns)]
        term = random.choice(korean if random.random() < 0.5 else UNSEEN)
        if term not in pair.target:
            yield pair.source, noun.english, noun.korean, term
            count -= 1
        if not count:
            return


def exchanged(text: str, usual: str, term: str) -> str | None:
    """A translation with another noun, and its particle; None: the noun is not in it once."""
    if len(re.findall(rf"(?<!\S){usual}", text)) != 1:
        return None
    for consonant, vowel in sorted(FORMS, key=lambda pair: -len(pair[0])):
        for particle in (consonant, vowel):
            if re.search(rf"(?<!\S){usual}(?:들)?{particle}(?=[^\w]|$)", text):
                liquid = final(term) == "ㄹ" and vowel == "로"
                fits = vowel if final(term) == " " or liquid else consonant
                return re.sub(rf"(?<!\S){usual}{particle}(?=[^\w]|$)", term + fits, text)
    return re.sub(rf"(?<!\S){usual}", term, text)


def main() -> None:
    model, count = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 500
    translator = Translator.load(model)
    german = translator.target_language == "de"
    rows = list((captions if german else lines)(count))
    plain = translator.translate([source for source, *_ in rows])
    tried, counted = [], []
    for (source, noun, usual, term), one in zip(rows, plain, strict=True):
        expected = (exchanged_german if german else exchanged)(one.text, usual, term)
        (found,) = translator.translate([source], glossary={noun: term})
        counted.append((found.text.count(term), bool(found.missing_terms)))
        if expected is not None:
            tried.append((source, noun, usual, term, one.text, expected, found))
    print(f"{len(rows)} lines")
    print(f"once: {sum(times == 1 for times, _ in counted) / len(rows):.1%}")
    print(f"once, or said to be missing: {sum(n == 1 or no for n, no in counted) / len(rows):.1%}")
    print(f"{len(tried)} lines whose plain translation has the usual noun once")
    if not tried:
        return
    once = [found.text.count(term) == 1 for *_, term, _, _, found in tried]
    begun = r"\b" if german else r"(?<!\S)"
    gone = [not re.search(begun + usual, f.text) for _, _, usual, _, _, _, f in tried]
    equal = [found.text == expected for *_, expected, found in tried]
    said = [bool(found.missing_terms) for *_, found in tried]
    rest = [
        [
            " ".join(word for word in text.replace(term, usual).split() if usual not in word)
            for text in (found.text, text)
        ]
        for _, _, usual, term, text, _, found in tried
    ]
    (bleu,) = score_text(
        [text for text, _ in rest],
        [text for _, text in rest],
        target_language=translator.target_language,
        metrics=["bleu"],
        resamples=0,
    )
    for name, flags in (("once", once), ("usual word gone", gone), ("as expected", equal)):
        print(f"{name}: {sum(flags) / len(flags):.1%}")
    print(f"said to be missing: {sum(said) / len(said):.1%}")
    print(f"BLEU of the rest against the plain translation: {bleu.value:.2f}")
    for (source, noun, _, term, text, _, found), good in zip(tried, equal, strict=True):
        if not good:
            print(f"{source} | {noun}={term} | {text} | {found.text} | {found.missing_terms}")


if __name__ == "__main__":
    main()
