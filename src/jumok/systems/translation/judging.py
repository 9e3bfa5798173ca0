"""What is said of a translation: how likely it is right, and what is odd about it or its source.

Importing this imports no torch.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import exp, fsum, log

import numpy as np

from jumok.bundle.confidence import Calibration, logit
from jumok.bundle.profile import Profile, stripped
from jumok.config.data import CleanConfig
from jumok.data.pairs.cleaning.characters import script_of
from jumok.data.pairs.cleaning.languages import SCRIPTS, main_language
from jumok.data.pairs.cleaning.rules import differing_lengths
from jumok.data.tokenizer import plain_words
from jumok.documents.segment import has_word
from jumok.systems.translation.result import Translation
from jumok.systems.translation.sentences import WITHOUT_SPACES, language_code

UNKNOWN_SCRIPT, TARGET_LANGUAGE = "unknown-script", "target-language"
UNKNOWN_WORDS = "unknown-words"
EMPTY, COPIED, REPETITION = "empty", "copied", "repetition"
TOO_LONG, TOO_SHORT = "too-long", "too-short"
SEARCHED_AGAIN, TERM_FORM = "searched-again", "term-form"
UNCERTAIN = "uncertain"

NOTES = {
    UNKNOWN_SCRIPT: "the text is in a script that the source language does not use",
    TARGET_LANGUAGE: "the text is in the script of the target language",
    UNKNOWN_WORDS: "the text has words or runs of characters that the training data did not have",
    EMPTY: "the translation is empty",
    COPIED: "the text was copied instead of translated",
    REPETITION: "the translation repeats itself",
    TOO_LONG: "the translation is far longer than usual",
    TOO_SHORT: "the translation is far shorter than usual",
    SEARCHED_AGAIN: "the first translation was empty, far too long or too short, or repeated "
    "itself, and another one was searched for",
    UNCERTAIN: "the confidence is low; fewer than two thirds of such translations are right",
    TERM_FORM: "a term of the glossary replaced a word; articles and endings may not fit it",
}
"""What each code in the notes of a translation means."""

USUAL = CleanConfig()  # the thresholds at which pairs are left out of training data
LEAST_SURE = 2 / 3  # calibrated confidences below this are noted
BEYOND_USUAL = 1.5  # times the unknown n-grams of usual texts
MOST_UNKNOWN = 0.15  # the least of them that is noted
FEWEST_WORDS = 3  # of a text that is copied, or all Latin; shorter ones may be names
LONGEST_LOOP = 40  # characters
LOOPS = ((4, 8), (3, 30))  # copies in a row, and the characters of all of them together
NGRAM = 4  # characters by which copies are found
FEWEST_TWICE = 3  # n-grams that the shortest loop has once more


@dataclass(frozen=True)
class Judge:
    """What a translator knows about usual texts.

    Attributes:
        languages: the codes of source and target; "" where unknown.
        profile: that of the training data; None: not known.
        calibration: that of the confidence; None: it is the model's own.
    """

    languages: tuple[str, str]
    profile: Profile | None = None
    calibration: Calibration | None = None

    def unknown(self, sources: Sequence[str]) -> list[float]:
        """The share of each text that the training data did not have; 0 where that is not known."""
        if self.profile is None:
            return [0.0] * len(sources)
        return list(self.profile.unknown(sources).tolist())

    def unknown_words(self, source: str) -> dict[int, str]:
        """The words that the training data did not have, without the signs around them, by their
        indices; none where that is not known, or where the language writes no spaces.
        """
        if self.profile is None or language_code(self.languages[0]) in WITHOUT_SPACES:
            return {}
        words = plain_words(source)
        return {at: stripped(words[at]) for at in self.profile.unknown_words(words)}

    def judged(self, translation: Translation, source: str, unknown: float) -> Translation:
        """The translation with its confidence and notes.

        Args:
            unknown: of the source, by `unknown`.
        """
        own, uncertain = translation.confidence, False
        if own is not None and self.calibration is not None:
            own = self.calibration.of(own, self.evidence(translation, source, unknown))
            uncertain = own < LEAST_SURE
        odd = self.odd_source(source, unknown)
        notes = (
            *translation.notes,
            *odd,
            *self.faults(source, translation.text),
            *((UNCERTAIN,) if uncertain else ()),
        )
        words = self.unknown_words(source) if UNKNOWN_WORDS in odd else {}
        named = tuple(words.values())
        return replace(translation, confidence=own, notes=notes, unknown_words=named)

    def evidence(self, translation: Translation, source: str, unknown: float) -> dict[str, float]:
        """What tells right translations from wrong ones besides the model's own confidence: the
        log-odds of the arithmetic mean of the tokens' probabilities, the logarithm of how much of
        the source is unknown, and by how much the length is unusual.
        """
        ratio = 1.0 if self.profile is None else self.profile.ratio
        written, read = len(translation.text) * ratio, len(source)
        values = translation.token_log_probabilities
        return {
            "mean": logit(fsum(map(exp, values)) / len(values)),
            "unknown": log(1.0 + unknown * read),
            "length": abs(log((written + 1.0) / (read + 1.0))),
        }

    def odd_source(self, text: str, unknown: float) -> tuple[str, ...]:
        """What is odd about a source."""
        own, other = (SCRIPTS.get(main_language(code), ()) for code in self.languages)
        letters = scripts_in(text)
        most = (USUAL.script or 1.0) * letters.total()
        long = "LATIN" not in other or len(plain_words(text)) >= FEWEST_WORDS
        if own and letters:
            if not {*own} & {*other} and _sum(letters, other) >= most and long:
                return (TARGET_LANGUAGE,)
            if _sum(letters, {"LATIN", *own}) < most:
                return (UNKNOWN_SCRIPT,)
        usual = 0.0 if self.profile is None else BEYOND_USUAL * self.profile.unseen
        strange = unknown > max(MOST_UNKNOWN, usual) or self.unknown_words(text)
        return (UNKNOWN_WORDS,) if strange else ()

    def faults(self, source: str, text: str) -> tuple[str, ...]:
        """What is wrong with a translation, whatever the source says."""
        if not has_word(source):
            return ()
        if not has_word(text):
            return (EMPTY,)
        notes = []
        languages = set(map(main_language, self.languages))
        if len(languages) > 1 and text == source and len(plain_words(text)) >= FEWEST_WORDS:
            notes.append(COPIED)
        if loops(text, source):
            notes.append(REPETITION)
        if self.profile is not None:
            lengths = np.array([len(source)]), np.array([len(text)])
            (differs,) = differing_lengths(*lengths, USUAL.ratio or 1.0, self.profile.ratio)
            notes += [[], [TOO_LONG], [TOO_SHORT]][differs]
        return tuple(notes)


def scripts_in(text: str) -> Counter[str]:
    """How many letters of each script a text has."""
    if text.isascii():
        return Counter(LATIN=sum(map(str.isalpha, text)))
    counts = Counter(map(_script_of, filter(str.isalpha, text)))
    del counts[""]
    return counts


_script_of = lru_cache(4096)(script_of)


def _sum(letters: Counter[str], scripts: Collection[str]) -> int:
    return sum(letters[script] for script in scripts)


def loops(text: str, source: str) -> bool:
    """Whether something in a text follows itself several times, and not half as often in its
    source.
    """
    # Most texts have too few n-grams twice for any loop.
    grams = set(zip(text, text[1:], text[2:], text[3:], strict=False))
    if len(grams) > len(text) - NGRAM + 1 - FEWEST_TWICE:
        return False
    copies, length = _copies(text)
    looping = any(copies >= most and length >= least for most, least in LOOPS)
    return looping and copies > 2 * _copies(source)[0]


def _copies(text: str) -> tuple[int, int]:
    """How often something with a letter follows itself, and the characters of all copies.

    Of several, the longest.
    """
    text = f"{text.casefold()} "  # after the last copy is a space, too
    last: dict[str, int] = {}
    distance = run = 0
    best = 1, 0
    for place in range(len(text) - NGRAM + 1):
        gram = text[place : place + NGRAM]
        back = place - last.get(gram, place)
        last[gram] = place
        run = run + 1 if back and back == distance else 1
        distance = back
        length = distance + run + NGRAM - 1
        looping = 0 < distance <= LONGEST_LOOP and length > max(best[1], 2 * distance - 1)
        if looping and has_word(text[place - distance : place]):
            best = length // distance, length
    return best
