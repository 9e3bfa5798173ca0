"""The languages of a translator that is trained, and the tokens that name them."""

from itertools import permutations
from pathlib import Path
from typing import NamedTuple

from jumok.bundle.card import LanguageTokens
from jumok.bundle.card import Pair as LanguagePair
from jumok.config.data import DataConfig
from jumok.data.tokenizer import UNKNOWN, Tokenizer, language_tag
from jumok.errors import ConfigError
from jumok.systems.translation.languages import chosen_pair, tokenizer_between
from jumok.training.folder import START
from jumok.training.start import PretrainedModel


class ModelLanguages(NamedTuple):
    """As `BundleConfig` has them; {} and () for a model of one pair, which nothing names."""

    tokens: dict[str, LanguageTokens]
    pairs: tuple[LanguagePair, ...]

    def tokenizer(self, whole: Tokenizer, pair: LanguagePair) -> Tokenizer:
        """What cuts the texts of a pair, whose codes may be short (`matching`)."""
        every = self.pairs or tuple(permutations(self.tokens, 2))
        return tokenizer_between(whole, self.tokens, chosen_pair(every, *pair) if every else pair)


def languages_of(data: DataConfig, tokenizer: Tokenizer, home: Path) -> ModelLanguages:
    """The languages of the model that the run starts from, or those that its tokenizer was given.

    Raises:
        ConfigError: the tokenizer lacks one.
    """
    if (home / START).is_file():
        before = PretrainedModel.stored(home).config
        if before.languages:
            for pair in data.pairs:
                chosen_pair(before.every_pair, *pair)
            return ModelLanguages(before.languages, before.pairs)
    if len(data.pairs) < 2:
        return ModelLanguages({}, ())
    targets = dict.fromkeys(target for _, target in data.pairs)
    ids = dict(zip(targets, tokenizer.ids([*map(language_tag, targets)]), strict=True))
    if lacking := [code for code, id in ids.items() if id == UNKNOWN]:
        raise ConfigError(
            "the tokenizer has no token for a language to translate into.",
            expected=", ".join(map(language_tag, lacking)),
            do="leave tokenizer.path out; a model of one pair of languages keeps it",
        )
    codes = dict.fromkeys(code for pair in data.pairs for code in pair)
    tokens = {code: LanguageTokens(asked=ids.get(code)) for code in codes}
    return ModelLanguages(tokens, data.pairs)
