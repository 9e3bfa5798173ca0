"""The texts that the model of a run was trained on, read again from the files of its recipe."""

from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

from jumok.config import Config, TranslationConfig
from jumok.config.families import (
    LanguageModelConfig,
    MaskedLanguageModelConfig,
    TextClassificationConfig,
)
from jumok.data.leaks import long_lines
from jumok.data.pairs.corpus import Corpus, read_pairs
from jumok.data.texts.corpus import HeldOutTail, all_documents, read_examples
from jumok.training.folder import SMALLWORLD, TEST, VALIDATION
from jumok.training.preparing.held_out import HeldOut
from jumok.training.preparing.pairs import corpus_of_pairs
from jumok.training.preparing.texts import corpus_of, of_world


def training_texts(config: Config, run: Path) -> Iterator[str] | None:
    """Sources, texts or long lines, in order, without those that were held out; None: the files are
    not there, or the kind of model reads no texts.

    Args:
        run: the folder of the run, with its generated and held-out data.
    """
    if isinstance(config, TranslationConfig):
        return _sources(config, run)
    if isinstance(config, LanguageModelConfig):
        corpora = [corpus_of(one) for one in config.data.train]
        if not _there(corpus.file for corpus in corpora):
            return None
        rule, texts = config.data.documents, all_documents(corpora, config.data.documents)
        if config.data.validation:
            return long_lines(texts)
        return long_lines(HeldOutTail.of(corpora, rule, config.data.held_out).training(texts))
    if not isinstance(config, MaskedLanguageModelConfig | TextClassificationConfig):
        return None
    data = config.data
    if isinstance(config, MaskedLanguageModelConfig) and config.data.smallworld is not None:
        data = of_world(config.data, run / SMALLWORLD, config.data.smallworld.language)
    corpora = [corpus_of(one) for one in data.train]
    if not _there(corpus.file for corpus in corpora):
        return None

    def every() -> Iterator[str]:
        return (text.text for corpus in corpora for text in read_examples(corpus))

    if data.validation:
        return every()
    held = HeldOut.among(every(), data.validation_texts)
    return (text for text in every() if text not in held)


def _sources(config: TranslationConfig, run: Path) -> Iterator[str] | None:
    corpora = [
        corpus_of_pairs(one, config.data.skip_damaged)
        for one in config.data.train
        if one.prepared is None
    ]
    if config.data.smallworld is not None:
        world = run / SMALLWORLD
        corpora = [Corpus(world / "train.en", world / "train.ko")]
    if not corpora or not _there(file for one in corpora for file in one.files):
        return None
    aside = [Corpus(file=file) for file in (run / VALIDATION, run / TEST) if file.is_file()]
    kept_out = {pair.source.strip() for one in aside for pair in read_pairs(one)}
    sources = (pair.source for pair in chain.from_iterable(map(read_pairs, corpora)))
    return (source for source in sources if source.strip().replace("\t", " ") not in kept_out)


def _there(files: Iterable[Path]) -> bool:
    return all(file.is_file() for file in files)
