"""`jumok evaluate` for models that read whole texts: masked tokens and labels."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from jumok.cli.columns import column_of, two_columns
from jumok.cli.screen import counted
from jumok.cli.verbs.evaluate import Evaluation, Judged
from jumok.errors import DataError, Place
from jumok.late import late_imports

with late_imports():
    from jumok.data.texts import batches as texts_batches
    from jumok.data.texts import corpus
    from jumok.data.texts import examples as texts_examples
    from jumok.data.texts import masking as texts_masking
    from jumok.evaluation import classification, masked_lm

if TYPE_CHECKING:
    from jumok.data.files.tables import Column
    from jumok.data.texts.corpus import Example

GUESSED_SHARE = 0.15


def evaluate_guesses(asked: Evaluation) -> Judged:
    """Loss and accuracy on masked tokens of unseen texts: always the same 15 %, whole words.

    All of them are replaced by [MASK], as `jumok fill` does; training puts other tokens in some.

    Raises:
        DataError: the file cannot be read, or holds no text.
    """
    file = asked.needs_data()
    texts = [example.text for example in read(file, column_of(asked.columns.split(",")[0]), None)]
    system = asked.load("fill")
    masking = texts_masking.Masking(
        GUESSED_SHARE, 1.0, 0.0, True, texts_masking.word_starts(system.tokenizer)
    )
    ids = [each[: system.max_tokens] for each in system.tokenizer.encode_batch(texts)]
    with system.at_work():
        batches = counted(texts_batches.batches_of_guesses(ids, asked.batch, masking))
        guesses = masked_lm.score_masked_lm(system.model, batches)
    on = f"{int(guesses.guesses.sum()):,} tokens of {len(texts):,} texts"
    return Judged(guesses.scores(masking.signature, on), [], f"{len(texts):,} texts")


def evaluate_labels(asked: Evaluation) -> Judged:
    """Accuracy, macro F1 and the confusion matrix.

    Raises:
        ConfigError: --columns does not name two columns.
        DataError: the file cannot be read, or the model does not have a label.
    """
    file = asked.needs_data()
    text, label = two_columns(asked.columns, "the text's and the label's", "document,label")
    examples = read(file, text, label)
    system = asked.load("classify")
    truth = [texts_examples.label_number(example, system.labels) for example in examples]
    texts = [example.text for example in examples]
    found = system.probabilities(texts, asked.batch).argmax(dim=1).tolist()
    labelled = classification.ClassifiedExamples.of(truth, found)
    on = f"{len(texts):,} texts"
    return Judged(
        labelled.scores(system.labels, on),
        [system.labels[number] for number in found],
        on,
        tuple(classification.confusion_lines(labelled, system.labels)),
    )


def read(file: Path, text: "Column", label: "Column | None") -> "list[Example]":
    """The examples with at least one word; the number of the others is reported on stderr."""
    found = list(corpus.read_examples(corpus.TextCorpus(file, text, label)))
    examples = [example for example in found if example.text.strip()]
    if not examples:
        raise DataError("the file holds no text.", place=Place(file))
    if empty := len(found) - len(examples):
        first = next(example.line for example in found if not example.text.strip())
        typer.echo(f"skipped empty texts: {empty:,}, the first in line {first}", err=True)
    return examples
