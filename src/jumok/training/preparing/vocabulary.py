"""The tokenizer of a run: trained on its text, given by path, or stored by an earlier run."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

from jumok.config.data import TokenizerConfig
from jumok.config.texts import TextTokenizerConfig
from jumok.data.texts.tokenizer import TextTokenizer
from jumok.data.tokenizer import Tokenizer
from jumok.training.task import Reporter

AnyTokenizer = TypeVar("AnyTokenizer", Tokenizer, TextTokenizer)


def learn_tokenizer(
    settings: TokenizerConfig,
    lines: Iterable[str],
    file: Path,
    seed: int,
    say: Reporter,
    languages: Sequence[str] = (),
) -> Tokenizer:
    """The tokenizer in `file`; it is trained or copied, and stored there, if it does not exist yet.

    Args:
        lines: the training text; not read if nothing has to be trained.
        languages: those that need a token.

    Raises:
        DataError: a size that the text does not allow, or a given tokenizer that cannot be read.
    """
    learn = partial(Tokenizer.train, languages=languages)
    return stored_tokenizer(Tokenizer.load, learn, settings, lines, file, seed, say)


def stored_tokenizer(
    load: Callable[[Path], AnyTokenizer],
    train: Callable[..., AnyTokenizer],
    settings: TokenizerConfig | TextTokenizerConfig,
    lines: Iterable[str],
    file: Path,
    seed: int,
    say: Reporter,
) -> AnyTokenizer:
    """`learn_tokenizer` for tokenizers of any kind."""
    if file.exists():
        return load(file)
    if settings.path is not None:
        tokenizer = load(settings.path)
        say(f"tokenizer: {settings.path}, {tokenizer.size:,} subwords")
    else:
        tokenizer = train(
            lines,
            settings.kind,
            settings.size,
            coverage=settings.character_coverage,
            byte_fallback=settings.byte_fallback,
            seed=seed,
        )
        say(
            f"tokenizer: {settings.kind}, {tokenizer.size:,} subwords, trained on the training text"
        )
    tokenizer.save(file)
    return tokenizer
