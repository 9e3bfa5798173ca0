"""The pair of languages that a translator of several reads and writes."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import NoReturn

from jumok.bundle.card import BundleConfig, LanguageTokens, Pair, pairs_text
from jumok.data.tagged_tokenizer import TaggedTokenizer
from jumok.data.tokenizer import END, Tokenizer
from jumok.errors import ConfigError
from jumok.systems.translation.sentences import language_code

NONE = LanguageTokens()


def matching(codes: Iterable[str], asked: str) -> list[str]:
    """The languages that a code may mean: "fr" is "fr", or else "fra", "fra_Latn" and "fr_XX"."""
    distinct = list(dict.fromkeys(codes))
    if asked in distinct:
        return [asked]
    return [code for code in distinct if language_code(code) == language_code(asked)]


def short_names(codes: Iterable[str]) -> dict[str, str]:
    """What requests call each language: its short code, if no other language has the same."""
    distinct = list(dict.fromkeys(codes))
    shared = Counter(map(language_code, distinct))
    return {
        code: language_code(code) if shared[language_code(code)] == 1 else code for code in distinct
    }


def chosen_pair(pairs: Sequence[Pair], source: str, target: str) -> Pair:
    """The one of these pairs with these languages (`matching`); "" is any.

    Raises:
        ConfigError: there is none, or there are several.
    """
    sides = [
        matching(codes, asked) if asked else codes
        for codes, asked in zip(zip(*pairs, strict=True), (source, target), strict=True)
    ]
    fitting = [pair for pair in pairs if pair[0] in sides[0] and pair[1] in sides[1]]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        _refuse(fitting, source, target)
    if len(pairs) == 1 and not any(pairs[0]):  # its languages are not known
        return pairs[0]
    raise ConfigError(
        "the model does not translate between these languages.",
        expected=pairs_text(pairs),
        got=f"{source or 'any'} → {target or 'any'}",
        do="choose a pair: --from and --to, or between(source, target)",
    )


def _refuse(pairs: Sequence[Pair], source: str, target: str) -> NoReturn:
    asked = f"{source or 'any'} → {target or 'any'}" if source or target else "none"
    raise ConfigError(
        "the model translates several pairs of languages: choose one.",
        expected=pairs_text(pairs),
        got=asked,
        do="name the languages: --from and --to, or between(source, target)",
    )


def tokenizer_between(
    tokenizer: Tokenizer,
    languages: Mapping[str, LanguageTokens],
    pair: Pair | None,
    check: Callable[[], None] | None = None,
) -> Tokenizer:
    """The tokenizer that opens and closes texts as this pair wants.

    Args:
        languages: those of the model; {}: it has one pair, and nothing is opened.
        pair: None: `check` is called before any text is encoded.
    """
    if not languages:
        return tokenizer
    source, target = (languages[code] for code in pair) if pair else (NONE, NONE)
    opening = (
        [id for id in (source.source, target.asked) if id is not None],
        [id for id in (target.target,) if id is not None],
    )
    closing = [] if source.closing is None else [END, source.closing]
    tokens = (id for each in languages.values() for id in ids_of(each))
    return TaggedTokenizer(tokenizer, opening, [*tokens], None if pair else check, closing)


def ids_of(tokens: LanguageTokens) -> list[int]:
    """All ids that name a language."""
    every = tokens.source, tokens.asked, tokens.target, tokens.closing
    return [id for id in every if id is not None]


def asking(config: BundleConfig) -> Callable[[], None]:
    """Raises a ConfigError that names the pairs."""
    return partial(_refuse, config.every_pair, "", "")
