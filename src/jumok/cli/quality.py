"""What a model loses with fewer bits, for `jumok quantize`."""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any, TypeVar

from jumok.bundle.card import Score
from jumok.bundle.reading import Bundle
from jumok.bundle.weights import load_model
from jumok.cli.columns import as_column, pairs_of
from jumok.cli.options import Machine
from jumok.cli.screen import counted
from jumok.cli.verbs.evaluate import Evaluation, Judged
from jumok.config import Config, TranslationConfig
from jumok.config.families import LanguageModelConfig
from jumok.config.recipe import load_config
from jumok.data.pairs.corpus import Corpus, read_pairs
from jumok.data.texts.corpus import HeldOutTail, TextCorpus, all_documents, documents
from jumok.data.tokenizer import START
from jumok.decoding.options import FOR_TRANSLATION
from jumok.errors import ConfigError, JumokError, Location
from jumok.evaluation.agreement import (
    Agreement,
    computing_in,
    text_agreement,
    translation_agreement,
)
from jumok.evaluation.text import read_as, score_text
from jumok.kinds import KINDS
from jumok.models.memory import SequenceToSequence
from jumok.systems.catalog import OpenedModel, for_languages
from jumok.systems.language_model import LanguageModel, joined_scores
from jumok.systems.translation.result import Translation
from jumok.systems.translation.segments import MODEL_ALONE
from jumok.systems.translation.translator import Translator
from jumok.training.folder import RECIPE, SMALLWORLD, TEST, VALIDATION, run_of
from jumok.training.preparing.pairs import corpus_of_pairs
from jumok.training.preparing.texts import corpus_of

GIVE_PAIRS = "--check SOURCE REFERENCE, two files of lines, or --data FILE with both"
GIVE_TEXT = "--data FILE, a text that the model was not trained on"
GIVE_LABELS = "--data FILE, what jumok evaluate MODEL --data FILE reads"
NO_DATA = "there is no data to measure what the model loses."
MOST_HELD_OUT = 1_000
"""Texts by which an export is measured."""

Data = TypeVar("Data")


@dataclass(frozen=True)
class QualityCheck:
    """The options of one check; see those of `quantize`.

    Attributes:
        quantized: the model with fewer bits, which may still be refused.
        known: what was measured of the whole model, for the next one that is compared with it.
    """

    model: Bundle
    quantized: Bundle
    check: tuple[Path, Path] | None
    data: Path | None
    columns: str
    beam: int
    batch: int
    languages: tuple[str | None, str | None] = (None, None)
    known: dict[str, Any] = field(default_factory=dict)

    def once(self, what: str, measure: Callable[[], Data]) -> Data:
        """What is known, or is measured now."""
        if what not in self.known:
            self.known[what] = measure()
        found: Data = self.known[what]
        return found


def own_data(model: Bundle, find: Callable[[Config, Path], Data | None], do: str) -> Data:
    """The data that the run of a model names for validation or test.

    Args:
        find: (recipe, folder of the run) -> the data; None: the recipe names none.
        do: the options that give other data, for the error.

    Raises:
        ConfigError: the run, or its data, is not there.
        DataError: the data is damaged.
    """
    data, got = _data_of_run(model, find)
    if data is not None:
        return data
    raise ConfigError(
        NO_DATA,
        expected="the run that the model comes from, with its data, or data of yours",
        got=got,
        do=do,
        place=Location(model.folder),
    )


def _data_of_run(
    model: Bundle, find: Callable[[Config, Path], Data | None]
) -> tuple[Data | None, str]:
    """The data; None: it is not there, and why."""
    run = run_of(model.folder)
    if run is None:
        return None, "the model is not in the folder of a run"
    try:
        config = load_config(run / RECIPE)
    except JumokError as error:
        return None, error.what
    return find(config, run), "its recipe names no data for validation or test"


def held_out(model: Bundle) -> tuple[tuple[str, str], ...]:
    """Texts of that data with their references, "" for a language model; () where it is not
    there.

    Raises:
        DataError: the data is damaged.
    """
    if model.config.task == "translation":
        corpora, _ = _data_of_run(model, _pairs_of_run)
        pairs = islice(chain.from_iterable(map(read_pairs, corpora or ())), MOST_HELD_OUT)
        return tuple((pair.source, pair.target) for pair in pairs)
    if model.config.task == "language-model":
        data, _ = _data_of_run(model, _texts_of_run)
        return tuple((text, "") for text in islice(data[1] if data else (), MOST_HELD_OUT))
    return ()


@dataclass(frozen=True)
class ComparedModels:
    """Measured scores of both models.

    Attributes:
        on: the data, in words.
        seconds: CPU time of each model; None: not measured.
        unit: of the agreement, "tokens" or "labels".
    """

    on: str
    before: tuple[Score, ...]
    after: tuple[Score, ...]
    agreement: Agreement
    seconds: tuple[float, float] | None = None
    unit: str = "tokens"


def measure_translation(asked: QualityCheck) -> ComparedModels:
    """BLEU and chrF of both models, and their agreement along the whole model's translations.

    Raises:
        ConfigError: there is no data, or it is named twice.
        DataError: the data cannot be read.
    """
    if asked.check is not None and asked.data is not None:
        raise ConfigError("--check and --data both name the data.", do="leave one of them out")
    if asked.check is not None or asked.data is not None:
        source, target = asked.check or (None, None)
        corpora: Sequence[Corpus] = [pairs_of(source, target, asked.data, asked.columns)]
    else:
        corpora = own_data(asked.model, _pairs_of_run, GIVE_PAIRS)
    pairs = list(chain.from_iterable(map(read_pairs, corpora)))
    sources, references = [pair.source for pair in pairs], [pair.target for pair in pairs]
    translators = [
        for_languages(Translator.load(bundle, device="cpu", threads=1), *asked.languages)
        for bundle in (asked.model, asked.quantized)
    ]
    on = f"{', '.join(each.title for each in corpora)}: {len(pairs):,} sentences, beam {asked.beam}"

    def scored(translator: Translator) -> tuple[tuple[Score, ...], float]:
        started = time.process_time()
        translations = _translate_batches(translator, sources, asked.beam, asked.batch)
        seconds = time.process_time() - started
        measured = score_text(
            [each.text for each in translations],
            references,
            target_language=translator.target_language,
            metrics=("bleu", "chrf"),
            resamples=0,
        )
        return tuple(replace(each, on=on) for each in read_as(measured, **MODEL_ALONE)), seconds

    first, second = translators
    before, before_seconds = asked.once("scores", lambda: scored(first))
    after, seconds = scored(second)
    greedy = asked.once("greedy", lambda: _translate_batches(first, sources, 1, asked.batch))
    equal = _translation_agreement(asked, first, sources, greedy)
    return ComparedModels(on, before, after, equal, (before_seconds, seconds))


def _pairs_of_run(config: Config, run: Path) -> Sequence[Corpus] | None:
    """The test data that the run wrote, or the validation data of its recipe."""
    if not isinstance(config, TranslationConfig):
        return None
    test, world = run / TEST, run / SMALLWORLD
    if test.is_file():
        return [Corpus(file=test)]
    if (world / "test.en").is_file():
        return [Corpus(world / "test.en", world / "test.ko", name="smallworld test")]
    if (run / VALIDATION).is_file():
        return [Corpus(file=run / VALIDATION)]
    corpora = [corpus_of_pairs(each, config.data.skip_damaged) for each in config.data.validation]
    return _existing(corpora, (file for each in corpora for file in each.files))


def _existing(corpora: Sequence[Data], files: Iterable[Path]) -> Sequence[Data] | None:
    return corpora if corpora and all(file.is_file() for file in files) else None


def _translate_batches(
    translator: Translator, sources: Sequence[str], beam: int, batch: int
) -> list[Translation]:
    options = replace(FOR_TRANSLATION, beam=beam)
    lines = translator.translate_lines(
        sources, options, alignments=False, batch_size=batch, **MODEL_ALONE
    )
    return list(counted(lines, len(sources), f"beam {beam}", beside=True))


def _translation_agreement(
    asked: QualityCheck,
    translator: Translator,
    sources: Sequence[str],
    greedy: Sequence[Translation],
) -> Agreement:
    """The agreement along the greedy translations of lines that are not cut."""
    ids = [translator.tokenizer.encode(line) for line in sources]
    rows = [row for row, line in enumerate(ids) if 0 < len(line) <= translator.max_tokens]
    first, second = (load_model(each) for each in (asked.model, asked.quantized))
    assert isinstance(first, SequenceToSequence)
    assert isinstance(second, SequenceToSequence)
    with computing_in(second, asked.quantized.input_precision):
        return translation_agreement(
            (first, second),
            [ids[row] for row in rows],
            [translator.tokenizer.ids(greedy[row].tokens) for row in rows],
            asked.batch,
        )


def measure_language_model(asked: QualityCheck) -> ComparedModels:
    """The perplexity of both models, and their agreement, on one text.

    Raises:
        ConfigError: there is no data.
        DataError: the data cannot be read.
    """
    if asked.check is not None:
        raise ConfigError("--check names pairs, and a language model reads one text.", do=GIVE_TEXT)
    own = None if asked.data is not None else own_data(asked.model, _texts_of_run, GIVE_TEXT)
    first, second = (
        LanguageModel.load(each, device="cpu", engine="torch")
        for each in (asked.model, asked.quantized)
    )
    if asked.data is not None:
        corpus = TextCorpus(asked.data, as_column(asked.columns.split(",")[0]))
        own = corpus.file.name, list(documents(corpus, first.documents))
    assert own is not None
    name, texts = own
    before = asked.once("scores", lambda: joined_scores(first.score(texts, batch_size=asked.batch)))
    with computing_in(second.model, asked.quantized.input_precision):
        after = joined_scores(second.score(texts, batch_size=asked.batch))
        equal = text_agreement(
            (first.model, second.model),
            [[START, *first.tokenizer.encode(each)] for each in texts],
            first.context,
            asked.batch,
        )
    on = f"{name}: {len(before.tokens):,} tokens"
    score = Score("perplexity", before.perplexity, signature="exp(loss)", on=on)
    return ComparedModels(on, (score,), (replace(score, value=after.perplexity),), equal)


def _texts_of_run(config: Config, _: Path) -> tuple[str, list[str]] | None:
    """The validation documents of a recipe, or those that it holds out; with their files' names."""
    if not isinstance(config, LanguageModelConfig):
        return None
    data = config.data
    corpora = [corpus_of(each) for each in data.validation or data.train]
    if _existing(corpora, (each.file for each in corpora)) is None:
        return None
    name, texts = (
        ", ".join(each.file.name for each in corpora),
        all_documents(corpora, data.documents),
    )
    if data.validation:
        return name, list(texts)
    held = HeldOutTail.of(corpora, data.documents, data.held_out)
    return f"held out of {name}", list(held.kept_out(texts))


def measure_labels(asked: QualityCheck) -> ComparedModels:
    """The accuracy of both classifiers on torch, and how many labels are equal.

    Raises:
        ConfigError: --data is missing.
        DataError: the data cannot be read.
    """
    if asked.check is not None:
        raise ConfigError("--check names pairs, and a classifier has labels.", do=GIVE_LABELS)
    if asked.data is None:
        raise ConfigError(NO_DATA, do=GIVE_LABELS, place=Location(asked.model.folder))

    def evaluated(bundle: Bundle) -> Judged:
        task = bundle.config.task
        judged: Judged = KINDS[task].entry("evaluate")(
            Evaluation(
                data=asked.data,
                columns=asked.columns,
                model=str(bundle.folder),
                machine=Machine(asked.batch, "cpu"),
                opened=OpenedModel(task, (bundle,)),
            )
        )
        return judged

    first = asked.once("labels", lambda: evaluated(asked.model))
    second = evaluated(asked.quantized)
    equal = sum(one == other for one, other in zip(first.outputs, second.outputs, strict=True))
    on = f"{asked.data.name}: {first.examples}"
    before, after = (
        tuple(replace(each, on=on) for each in judged.scores if each.name == "accuracy")
        for judged in (first, second)
    )
    return ComparedModels(on, before, after, Agreement(len(first.outputs), equal), unit="labels")
