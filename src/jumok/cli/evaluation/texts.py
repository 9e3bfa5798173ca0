"""`jumok evaluate` for models of single texts: language models, masked ones, classifiers."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from jumok.bundle.card import Score
from jumok.cli.columns import as_column, two_columns
from jumok.cli.evaluation.leaks import leak_lines
from jumok.cli.screen import counted
from jumok.cli.verbs.evaluate import Evaluation, Judged, judged_labels
from jumok.errors import DataError, Location

if TYPE_CHECKING:
    from jumok.data.files.tables import Column
    from jumok.data.texts.corpus import Example
    from jumok.systems.language_model import LanguageModel

GUESSED_SHARE = 0.15


def evaluate_language_model(asked: Evaluation) -> Judged:
    """Loss in nats a token, perplexity and bits per byte of a text, and of each document.

    Raises:
        ConfigError: --data is missing.
        DataError: the file cannot be read, or there is no text in it.
    """
    from jumok.data.texts.corpus import TextCorpus, documents
    from jumok.systems.language_model import joined_scores

    file = asked.needs_data()
    system: LanguageModel = asked.load("generate")
    read_as = asked.encoding, asked.delimiter
    corpus = TextCorpus(file, as_column(asked.columns.split(",")[0]), None, None, None, *read_as)
    texts = list(documents(corpus, system.documents))
    scored = system.score(texts, batch_size=asked.machine.batch)
    whole = joined_scores(scored)
    half = system.context // 2
    on = f"{file.name}, {len(whole.tokens):,} tokens, each after all before it or {half} or more"
    scores = (
        Score("loss", whole.loss, signature="nats per token, END counted", on=on),
        Score("perplexity", whole.perplexity, signature="exp(loss)", on=on),
        Score("bits per byte", whole.bits_per_byte, signature="UTF-8 in NFC", on=on),
    )
    outputs = [f"{one.loss:.6f}\t{one.bits_per_byte:.6f}" for one in scored]
    documents_read = "1 document" if len(texts) == 1 else f"{len(texts):,} documents"
    from jumok.data.leaks import long_lines

    leaks = tuple(leak_lines(asked, list(long_lines(texts))))
    return Judged(scores, outputs, documents_read, leaks, columns=("loss", "bits_per_byte"))


def evaluate_guesses(asked: Evaluation) -> Judged:
    """Loss and accuracy on masked tokens: always the same 15 %, whole words, all by [MASK].

    Raises:
        DataError: the file cannot be read, or holds no text.
    """
    file = asked.needs_data()
    column = as_column(asked.columns.split(",")[0])
    texts = [example.text for example in _read_asked(asked, file, column, None)]
    system = asked.load("fill")
    from jumok.data.texts.masking import Masking, word_starts

    masking = Masking(GUESSED_SHARE, 1.0, 0.0, True, word_starts(system.tokenizer))
    ids = [each[: system.max_tokens] for each in system.tokenizer.encode_batch(texts)]
    from jumok.data.texts.batches import batches_of_guesses

    batches = counted(batches_of_guesses(ids, asked.machine.batch, masking))
    from jumok.evaluation.masked_lm import score_masked_lm

    guesses = score_masked_lm(system._model, batches)
    on = f"{int(guesses.guesses.sum()):,} tokens of {len(texts):,} texts"
    leaks = tuple(leak_lines(asked, texts))
    return Judged(guesses.scores(masking.signature, on), [], f"{len(texts):,} texts", leaks)


def evaluate_labels(asked: Evaluation) -> Judged:
    """Accuracy, macro F1 and the confusion matrix.

    Raises:
        ConfigError: --columns does not name two columns.
        DataError: the file cannot be read, or the model does not have a label.
    """
    file = asked.needs_data()
    text, label = two_columns(asked.columns, "the text's and the label's", "document,label")
    examples = _read_asked(asked, file, text, label)
    system = asked.load("classify")
    from jumok.data.texts.examples import label_number

    truth = [label_number(example, system.labels) for example in examples]
    texts = [example.text for example in examples]
    predicted = system.probabilities(texts, asked.machine.batch).argmax(dim=1).tolist()
    judged = judged_labels(truth, predicted, system.labels, f"{len(texts):,} texts")
    return replace(judged, details=(*judged.details, *leak_lines(asked, texts)))


def _read_asked(
    asked: Evaluation, file: Path, text: "Column", label: "Column | None"
) -> "list[Example]":
    """The examples with at least one word; the number of the others is reported on stderr."""
    from jumok.data.texts.corpus import TextCorpus, read_examples

    read_as = asked.encoding, asked.delimiter
    rows = list(read_examples(TextCorpus(file, text, label, None, None, *read_as)))
    examples = [example for example in rows if example.text.strip()]
    if not examples:
        raise DataError("the file holds no text.", place=Location(file))
    if empty := len(rows) - len(examples):
        first = next(example.line for example in rows if not example.text.strip())
        typer.echo(f"skipped empty texts: {empty:,}, the first in line {first}", err=True)
    return examples
