"""The filters of pairs by name, in the order in which they are applied."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from jumok.config.data import CleanConfig
from jumok.data.pairs.cleaning import rules
from jumok.data.pairs.cleaning.characters import BothSides, Rows
from jumok.data.pairs.cleaning.languages import (
    SCRIPTS,
    identifier_installed,
    is_known,
    languages_of,
    main_language,
    same_language,
)
from jumok.errors import ConfigError, MissingExtraError


@dataclass(frozen=True)
class CorpusContext:
    """What the tests know besides the pairs.

    Attributes:
        languages: the codes of source and target; "" if unknown.
        ratio: the usual length of a source, divided by that of its target.
        words: of both languages, by which a text is identified: `frequent_words`.
    """

    languages: tuple[str, str] = ("", "")
    ratio: float = 1.0
    words: tuple[frozenset[str], frozenset[str]] = (frozenset(), frozenset())


Test = Callable[[BothSides, float, CorpusContext], Rows]


@dataclass(frozen=True)
class Filter:
    """A filter that needs no earlier pair.

    Attributes:
        says: a report's words after the number of its matches; {} is the threshold.
        test: which pairs it takes away.
    """

    says: str
    test: Test


def _script(batch: BothSides, least: float, context: CorpusContext) -> Rows:
    wrong = np.zeros(len(batch), dtype=np.bool_)
    for side, language in zip(batch.sides, context.languages, strict=True):
        scripts = SCRIPTS.get(main_language(language))
        if scripts is not None:
            wrong |= rules.other_script(side, scripts, least)
    return wrong


FILTERS: dict[str, Filter] = {
    "equal": Filter("are equal on both sides", lambda batch, _, __: rules.equal(batch)),
    "encoding": Filter(
        "are damaged by a wrong encoding", lambda batch, _, __: rules.broken_encoding(batch)
    ),
    "markup": Filter("hold tags or entities", lambda batch, _, __: rules.markup(batch)),
    "length": Filter(
        "are longer than {:g} characters", lambda batch, most, _: rules.too_long(batch, most)
    ),
    "ratio": Filter(
        "have a side more than {:g} times as long as the other one suggests",
        lambda batch, most, context: rules.unequal_lengths(batch, most, context.ratio),
    ),
    "letters": Filter(
        "are less than {:.0%} letters and digits",
        lambda batch, least, _: rules.few_letters(batch, least),
    ),
    "script": Filter("are written in a script that their language does not use", _script),
    "addresses": Filter(
        "are more than {:.0%} addresses of pages or mail",
        lambda batch, most, _: rules.addresses(batch, most),
    ),
    "long_words": Filter(
        "have words of more than {:g} characters",
        lambda batch, most, _: rules.long_words(batch, most),
    ),
    "numbers": Filter(
        "have more than {:g} numbers that the other side lacks",
        lambda batch, most, _: rules.unbalanced_numbers(batch, most),
    ),
}
"""The filters that need neither a model nor the pairs before."""

LANGUAGE, SWAPPED, DUPLICATES, NEAR = "language", "swapped", "duplicates", "near_duplicates"
FURTHER = {
    LANGUAGE: "are in another language",
    SWAPPED: "have swapped sides",
    DUPLICATES: "repeat an earlier one",
    NEAR: "nearly repeat an earlier one",
}
"""What is said of pairs that the others find."""


def says(name: str, threshold: float | int | str | None) -> str:
    """A report's words after the number of a filter's matches."""
    if name == DUPLICATES and threshold == "target":
        return "repeat the target of an earlier one"
    text = FILTERS[name].says if name in FILTERS else FURTHER[name]
    return text.format(threshold)


def thresholds(clean: CleanConfig) -> dict[str, float]:
    """The filters of FILTERS that are applied, in their order, with their thresholds."""
    values = {name: getattr(clean, name) for name in FILTERS}
    return {
        name: float(value)
        for name, value in values.items()
        if value is not None and value is not False
    }


def in_wrong_language(
    batch: BothSides, context: CorpusContext, rows: Rows, least: float
) -> tuple[Rows, Rows]:
    """The pairs with a side in another language than its own, and those whose sides are swapped.

    Args:
        rows: those to check.
        least: the least probability of another language.
    """
    wrong = np.zeros(len(batch), dtype=np.bool_)
    swapped = np.ones(len(batch), dtype=np.bool_)
    codes = [main_language(code) for code in context.languages]
    sides = zip(batch.sides, codes, reversed(codes), context.words, strict=True)
    for side, own, other, words in sides:
        if not is_known(own):
            swapped[:] = False
            continue
        identified = languages_of(side, own, rows, least, words)
        wrong |= [code not in ("", own) for code in identified]
        swapped &= [bool(code) and same_language(code, other) for code in identified]
    return wrong, swapped & wrong


def usable(clean: CleanConfig, languages: tuple[str, str]) -> tuple[CleanConfig, list[str]]:
    """The filters that can be applied to these languages here, and why others cannot.

    Raises:
        ConfigError: a filter that the recipe names needs a language that is not known.
        MissingExtraError: the recipe names `language`, and its package is not installed.
    """
    lacking: list[str] = []
    unknown = [code for code in languages if not is_known(code)]
    named = clean.model_fields_set & {"script", LANGUAGE}
    off: dict[str, None] = {}
    if unknown and (clean.script is not None or clean.language is not None):
        keys = [
            f"data.{side}_language = {code!r}"
            for side, code in zip(("source", "target"), languages, strict=True)
            if not is_known(code)
        ]
        if any(getattr(clean, name) is not None for name in named):
            raise ConfigError(
                f"data.clean: nothing is known about the language of {keys[0].split('_')[0][5:]}s.",
                expected="a code of ISO 639, such as en, ko, pt-BR",
                got=", ".join(keys),
                do="correct the code, or switch off data.clean.script and data.clean.language",
            )
        lacking.append(f"scripts and languages are not checked on a side: {', '.join(keys)}")
        off |= dict.fromkeys([LANGUAGE, "script"] if len(unknown) == len(languages) else [])
    if clean.language is not None and LANGUAGE not in off and not identifier_installed():
        if LANGUAGE in named:
            raise MissingExtraError("data.clean.language", "clean")
        lacking.append(
            'swapped sides and other languages are not looked for: pip install "jumok[clean]"'
        )
        off[LANGUAGE] = None
    return clean.model_copy(update=off), lacking
