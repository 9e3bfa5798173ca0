"""The language of a text: by fastText's small model, where the extra `clean` is installed, and
otherwise by the script of its letters alone.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from jumok.data.pairs.cleaning.characters import script_of
from jumok.data.pairs.cleaning.languages import (
    ENOUGH,
    SCRIPTS,
    identified,
    identifier_installed,
    written_in,
)
from jumok.serving.http.models import ServedModel
from jumok.serving.http.refusals import RequestRefused
from jumok.systems.language_names import name_of
from jumok.systems.translation.kept.keeping import Keep
from jumok.systems.translation.kept.markup import TAG

AUTO = "auto"
"""In the place of a source language that is to be determined."""

KEPT = Keep()

LONGEST_SAMPLE = 2_000
"""Characters of a text that are read."""

SURE_PERCENT = 80.0
"""A text is taken to be in a language from this confidence on, if it has three words. Of 3,769
sentences of Tatoeba (English, French) with it all were, and of three words out of sentences (and of
Multi30k, with German) 99.5 %; without it, and of single words, 99.4 and 75 %."""

WORDS = 3
LEAST_SHARE = 0.01
"""The least probability of all languages of a script together; below, only other words decided."""

SAME_LANGUAGE = {"no": "nb", "wuu": "zh", "yue": "zh"}
"""What fastText's model names otherwise."""


@dataclass(frozen=True)
class DetectedLanguage:
    """How a text of an unknown language is read.

    Attributes:
        confidence: 0 to 100; see `likely_languages`.
        model: that translates it; None: it is in the target language already, and stays as it is.
    """

    language: str
    confidence: float
    model: ServedModel | None = None

    @property
    def detected(self) -> dict[str, object]:
        """As LibreTranslate names it."""
        return {"confidence": round(self.confidence, 1), "language": self.language}


def likely_languages(text: str, known: Sequence[str]) -> list[tuple[str, float]]:
    """The languages that a text may be in, most likely first, each with a confidence of 0 to 100.

    With fastText's model it is the probability of the language among those of the script, times the
    script's share of the letters. Without it all languages of a script are equally probable, and of
    several only those in `known` are named.
    """
    words = _words(text)
    scripts = Counter[str]()
    for sign, count in Counter(words).items():
        if sign.isalpha() and (script := script_of(sign)):
            scripts[script] += count
    shares: dict[str, float] = {}
    for script, weights in _weights(words, scripts, known).items():
        for code, weight in weights.items():
            share = 100.0 * weight * scripts[script] / scripts.total()
            shares[code] = shares.get(code, 0.0) + share
    places = {code: place for place, code in enumerate(known)}
    return sorted(shares.items(), key=lambda each: (-each[1], places.get(each[0], len(places))))


def _words(text: str) -> str:
    """The beginning of a text without markup, addresses and placeholders."""
    text = TAG.sub(" ", text[:LONGEST_SAMPLE])
    for pattern in KEPT.code:
        text = pattern.sub(" ", text)
    return text


def _weights(
    words: str, scripts: Mapping[str, int], known: Sequence[str]
) -> dict[str, dict[str, float]]:
    """The languages of each script, with weights that sum up to 1 at most."""
    probabilities: dict[str, float] = {}
    if scripts and identifier_installed():
        for name, value in identified(words).items():
            code = name if name in known else SAME_LANGUAGE.get(name, name)
            probabilities[code] = probabilities.get(code, 0.0) + value
    weights = {}
    for script in scripts:
        of_script = {code: p for code, p in probabilities.items() if script in _scripts(code)}
        whole = sum(of_script.values())
        if whole >= LEAST_SHARE:
            weights[script] = {code: value / whole for code, value in of_script.items()}
            continue
        every = {*written_in(script), *(code for code in known if script in _scripts(code))}
        named = [code for code in every if code in known or len(every) == 1]
        weights[script] = dict.fromkeys(named, 1 / len(every))
    return weights


def _scripts(code: str) -> Sequence[str]:
    return SCRIPTS.get(code, ("LATIN",))


def reading_of(text: str, models: Sequence[ServedModel]) -> DetectedLanguage:
    """How to read a text of an unknown language.

    Args:
        models: at least one; all have one target language.

    Raises:
        RequestRefused: it is surely in a language that none of them reads.
    """
    sources: dict[str, ServedModel] = {}
    for model in models:
        sources.setdefault(model.languages[0], model)
    target = models[0].languages[1]
    likely = likely_languages(text, [*sources, target])
    if likely:
        language, confidence = likely[0]
        if language not in sources and confidence >= SURE_PERCENT and _is_enough(text):
            if language == target:
                return DetectedLanguage(language, confidence, None)
            seems = f"{name_of(language)} ({language}, {confidence:.0f} %)"
            text = (
                f"A text seems to be in {seems}, from which no model here translates into {target}."
                " Name another source language to translate it all the same."
            )
            raise RequestRefused(400, "language_not_served", text, parameter="source")
    confidences = dict(likely)
    source = max(sources, key=lambda code: confidences.get(code, 0.0))
    return DetectedLanguage(source, confidences.get(source, 0.0), sources[source])


def _is_enough(text: str) -> bool:
    """Whether a text is long enough to be sure of its language; one letter of a script is that only
    one language has."""
    words = _words(text)
    letters = "".join(filter(str.isalpha, words))
    own = any(len(written_in(script_of(letter))) == 1 for letter in set(letters))
    return own or len(words.split()) >= WORDS or len(letters.encode()) >= ENOUGH
