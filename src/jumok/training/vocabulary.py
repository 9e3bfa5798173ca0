"""The tokenizer of a run: learnt from its text, given by path, or kept from before."""

from collections.abc import Iterable
from pathlib import Path

from jumok.config.data import TokenizerConfig
from jumok.data.tokenizer import Tokenizer
from jumok.training.task import Reporter


def learn_tokenizer(
    settings: TokenizerConfig, lines: Iterable[str], file: Path, seed: int, say: Reporter
) -> Tokenizer:
    """The tokenizer that the run keeps in `file`; made, and kept there, if it is not there yet.

    Args:
        lines: the text to learn from; not read where nothing has to be learnt.

    Raises:
        DataError: a size that the text does not allow, or a given tokenizer that cannot be read.
    """
    if file.exists():
        return Tokenizer.load(file)
    if settings.path is not None:
        tokenizer = Tokenizer.load(settings.path)
        say(f"tokenizer: {settings.path}, {tokenizer.size:,} pieces")
    else:
        tokenizer = Tokenizer.train(
            lines,
            settings.kind,
            settings.size,
            coverage=settings.character_coverage,
            byte_fallback=settings.byte_fallback,
            seed=seed,
        )
        say(f"tokenizer: {settings.kind}, {tokenizer.size:,} pieces, learnt from the training text")
    tokenizer.save(file)
    return tokenizer
