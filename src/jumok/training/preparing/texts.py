"""From a recipe's section of texts to token ids on disk."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import TypeVar

from jumok.config.texts import (
    LabelledCorpusConfig,
    LabelledTextsConfig,
    TextCorpusConfig,
    TextsConfig,
)
from jumok.data.pairs.batches import Updates
from jumok.data.report import CorpusReport
from jumok.data.store import digest
from jumok.data.texts.corpus import Example, TextCorpus, read_examples
from jumok.data.texts.examples import ExampleStore, label_names, prepare_examples
from jumok.data.tokenizer import Tokenizer
from jumok.errors import ConfigError
from jumok.training.preparing.held_out import HeldOut
from jumok.training.preparing.leaks import say_leaks
from jumok.training.task import MicroBatch, Reporter

Batches = TypeVar("Batches", bound=MicroBatch)


@dataclass(frozen=True)
class PreparedTexts:
    """The training and validation data of a run; without labels, `labels` is ()."""

    tokenizer: Tokenizer
    train: ExampleStore
    validation: ExampleStore
    labels: tuple[str, ...]


Corpora = Sequence[TextCorpus]


def prepare_examples_of(
    data: TextsConfig | LabelledTextsConfig,
    tokenizer: Callable[[Iterator[str]], Tokenizer],
    cache: Path,
    say: Reporter,
) -> PreparedTexts:
    """Writes token ids, and reports what was dropped and why.

    Args:
        tokenizer: trains one on the texts, or ignores them.
    """
    train = [corpus_of(one) for one in data.train]
    checked = [corpus_of(one) for one in data.validation]
    held, labelled = HeldOut(), isinstance(data, LabelledTextsConfig)
    skip = isinstance(data, LabelledTextsConfig) and data.skip_damaged

    def read(corpora: Corpora, report: CorpusReport | None = None) -> Iterator[Example]:
        report = report or CorpusReport("", skip_damaged=skip)
        return (text for corpus in corpora for text in read_examples(corpus, report))

    if not checked:
        held = HeldOut.among((text.text for text in read(train)), data.validation_texts)
        say(f"no validation data given: {len(held)} texts are held out")
    labels = label_names(read(train)) if labelled else ()
    _check_names(data, labels)
    trained = tokenizer(text.text for text in read(train))

    say_leaks(
        cache,
        [[[str(one), digest(one.file)] for one in train], sorted(held.hashes)],
        [text.text for text in read(checked or train) if checked or text.text in held],
        lambda: (text.text for text in read(train) if text.text not in held),
        say,
    )

    def store(corpora: Corpora, part: str, kept: Callable[[Example], bool]) -> ExampleStore:
        names = " + ".join(corpus.file.name for corpus in corpora)
        report = CorpusReport(f"{part}: {names}", unit="texts", skip_damaged=skip)
        texts = filter(kept, read(corpora, report))
        stored = prepare_examples(
            _with_known_labels(texts, labels, report) if skip else texts,
            corpora,
            trained,
            cache,
            data.max_tokens,
            labels=labels,
            identity=[part, sorted(held.hashes), skip],
            report=report,
        )
        say(str(stored.report))
        return stored

    return PreparedTexts(
        trained,
        store(train, "training", lambda text: text.text not in held),
        store(checked or train, "validation", lambda text: bool(checked) or text.text in held),
        labels,
    )


def _check_names(data: TextsConfig | LabelledTextsConfig, labels: Sequence[str]) -> None:
    """Raises a ConfigError if a label has a name that no text has."""
    named = data.labels if isinstance(data, LabelledTextsConfig) else {}
    if unknown := [label for label in named if label not in labels]:
        raise ConfigError(
            "a name is given to a label that no training text has.",
            expected=", ".join(labels),
            got=f"data.labels: {', '.join(unknown)}",
        )


def of_world(data: TextsConfig, world: Path, language: str) -> TextsConfig:
    """The section with one side of the embedded corpus, written to `world`, as its files."""
    train, validation = (
        (TextCorpusConfig(file=world / f"{split}.{language}", format="text"),)
        for split in ("train", "validation")
    )
    return data.model_copy(update={"train": train, "validation": validation})


def padding_share(
    stream: Updates[Batches],
    padding: Callable[[Sequence[Batches]], float] | None = None,
    updates: int = 20,
) -> float:
    """The share of padding in the next updates, 0 to 1; the stream does not move."""
    cursor = stream.cursor
    batches = list(chain.from_iterable(islice(stream, updates)))
    stream.restore(cursor)
    if padding is not None:
        return padding(batches)
    return 1 - sum(batch.sources for batch in batches) / sum(batch.work for batch in batches)


def _with_known_labels(
    texts: Iterable[Example], labels: Sequence[str], report: CorpusReport
) -> Iterator[Example]:
    for text in texts:
        if text.label in labels:
            yield text
        else:
            report.skip("a label unknown to training" if text.label else "no label", text.line)


def corpus_of(config: TextCorpusConfig | LabelledCorpusConfig) -> TextCorpus:
    """A recipe's corpus as the data package's class."""
    known = None if config.format == "auto" else config.format
    corpus = TextCorpus(
        config.file,
        format=known,
        take=config.take,
        encoding=config.encoding,
        delimiter=config.delimiter,
    )
    if isinstance(config, TextCorpusConfig):
        return replace(corpus, column=config.column)
    return replace(corpus, column=config.text_column, label_column=config.label_column)
