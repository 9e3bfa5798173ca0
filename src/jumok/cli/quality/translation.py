"""Quantized translators: BLEU, chrF and equal tokens."""

import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path

from jumok.bundle.weights import load_model
from jumok.cli.columns import two_columns
from jumok.cli.quality.check import ComparedModels, QualityCheck
from jumok.cli.screen import counted
from jumok.config import Config, TranslationConfig
from jumok.data.pairs.corpus import Corpus, read_pairs
from jumok.decoding.options import FOR_TRANSLATION
from jumok.errors import ConfigError
from jumok.evaluation.agreement import Agreement, computing_in, translation_agreement
from jumok.evaluation.text import score_text
from jumok.models.memory import SequenceToSequence
from jumok.systems.translation.result import Translation
from jumok.systems.translation.translator import Translator
from jumok.training.folder import SMALLWORLD, TEST
from jumok.training.preparing.pairs import corpus_of_pairs

GIVE = "--check SOURCE REFERENCE, two files of lines, or --data FILE with both"


def measure_translation(asked: QualityCheck) -> ComparedModels:
    """BLEU and chrF of both models, and their agreement along the whole model's translations.

    Raises:
        ConfigError: there is no data, or it is named twice.
        DataError: the data cannot be read.
    """
    corpora = _corpora(asked)
    pairs = list(chain.from_iterable(map(read_pairs, corpora)))
    sources, references = [pair.source for pair in pairs], [pair.target for pair in pairs]
    scores, seconds = [], []
    translators = [
        Translator.load(bundle, device="cpu", threads=1)
        for bundle in (asked.model, asked.quantized)
    ]
    language = asked.model.config.target_language
    for translator in translators:
        started = time.process_time()
        hypotheses = [
            each.text for each in _translated(translator, sources, asked.beam, asked.batch)
        ]
        seconds.append(time.process_time() - started)
        scores.append(
            score_text(
                hypotheses,
                references,
                target_language=language,
                metrics=("bleu", "chrf"),
                resamples=0,
            )
        )
    on = f"{', '.join(each.title for each in corpora)}: {len(pairs):,} sentences, beam {asked.beam}"
    before, after = (tuple(replace(each, on=on) for each in those) for those in scores)
    greedy = _translated(translators[0], sources, 1, asked.batch)
    equal = _agreement(asked, translators[0], sources, greedy)
    return ComparedModels(on, before, after, equal, (seconds[0], seconds[1]))


def _translated(
    translator: Translator, sources: Sequence[str], beam: int, batch: int
) -> list[Translation]:
    options = replace(FOR_TRANSLATION, beam=beam)
    lines = translator.translate_lines(
        sources, options, alignments=False, batch_size=batch, split="length", keep=False
    )
    return list(counted(lines, len(sources), f"beam {beam}", beside=True))


def _agreement(
    asked: QualityCheck,
    translator: Translator,
    sources: Sequence[str],
    greedy: Sequence[Translation],
) -> Agreement:
    """Along the greedy translations of lines that are not cut."""
    ids = [translator.tokenizer.encode(line) for line in sources]
    most = translator.max_tokens
    rows = [row for row, line in enumerate(ids) if 0 < len(line) <= most]
    first, second = (load_model(each) for each in (asked.model, asked.quantized))
    assert isinstance(first, SequenceToSequence)
    assert isinstance(second, SequenceToSequence)
    with computing_in(second, asked.quantized.precision):
        return translation_agreement(
            (first, second),
            [ids[row] for row in rows],
            [translator.tokenizer.ids(greedy[row].tokens) for row in rows],
            asked.batch,
        )


def _corpora(asked: QualityCheck) -> Sequence[Corpus]:
    if asked.check is not None and asked.data is not None:
        raise ConfigError("--check and --data both name the data.", do="leave one of them out")
    if asked.check is not None:
        return [Corpus(source=asked.check[0], target=asked.check[1])]
    if asked.data is not None:
        first, second = two_columns(asked.columns, "the text's and its translation's", "en,ko")
        return [Corpus(file=asked.data, source_column=first, target_column=second)]
    return asked.own_data(_named_by, GIVE)


def _named_by(config: Config, run: Path) -> Sequence[Corpus] | None:
    """The test data that the run wrote, or the validation data of its recipe."""
    if not isinstance(config, TranslationConfig):
        return None
    test, world = run / TEST, run / SMALLWORLD
    if test.is_file():
        return [Corpus(file=test)]
    if (world / "test.en").is_file():
        return [Corpus(world / "test.en", world / "test.ko", name="smallworld test")]
    skip = config.data.skip_damaged
    named = [corpus_of_pairs(each, skip) for each in config.data.validation]
    return named if named and all(file.is_file() for each in named for file in each.files) else None
