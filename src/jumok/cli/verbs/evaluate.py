"""`jumok evaluate`: scores a model with the usual metrics of its kind."""

import json
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

import jumok
from jumok.cli.columns import LanguageFiles, columns_beside, of_languages
from jumok.cli.options import (
    DELIMITER,
    ENCODING,
    FROM,
    IMAGES,
    TO,
    Machine,
    ModelOrEnsemble,
    Output,
    ReadingOptions,
    Without,
    open_models,
)
from jumok.cli.output.cells import as_csv, form_of
from jumok.cli.output.streams import check_output, open_output
from jumok.cli.screen import console, print_scores
from jumok.data.report import UTF8
from jumok.decoding.options import ONLY_FOR_CONTINUATION, SAMPLING, DecodingOptions
from jumok.errors import ConfigError
from jumok.kinds import KINDS, Kind
from jumok.options import option, options_of

if TYPE_CHECKING:
    from jumok.bundle.card import Score
    from jumok.systems.catalog import OpenedModel


@dataclass(frozen=True)
class Evaluation:
    """The options of one evaluation, and the model.

    Attributes:
        columns: empty: those of the kind of model.
        languages: the options as they were given.
        changes: what stays in effect until the evaluation ends.
    """

    source: Path | None = option(
        None, "Text file to translate, one sentence per line.", "--source", "-s"
    )
    reference: Path | None = option(
        None, "Reference translation of --source, line-aligned.", "--reference", "-r"
    )
    data: Path | None = option(
        None,
        "One data file instead of --source and --reference; its format depends on the model.",
        *("--data", "-d"),
    )
    images: Path | None = option(None, IMAGES)
    columns: str = option(
        "",
        "With --data: columns of the text and its translation or label (default: 0,1); for "
        "captions, columns of the image file and the caption (default: 0,2).",
    )
    from_: str | None = option(None, FROM)
    to: str | None = option(None, TO)
    train: Path | None = option(
        None,
        "Training data in which to count the evaluated texts: a text file, a table or a recipe "
        "(default: the data of the model's run, if they still exist).",
    )
    by: str | None = option(None, "Also report scores for each value in this column of --data.")
    encoding: str = option(UTF8, ENCODING)
    delimiter: str = option("", DELIMITER)
    skip_damaged: bool = option(
        False, "Image classifiers: skip unreadable images, and report their number."
    )
    tokenize: str | None = option(
        None, "Tokenizer for BLEU: 13a, intl, char, zh, ko-mecab, ja-mecab, none."
    )
    lowercase: bool = option(False, "Ignore case in scoring.")
    metrics: Literal["text", "spelling", "meteor"] = option(
        "text",
        "text: BLEU, chrF and TER; for captions BLEU, CIDEr-D and ROUGE-L. spelling: accuracy of "
        "lines and characters. meteor: also METEOR (English captions only; needs Java).",
    )
    off: list[str] | None = option(
        None,
        "Ablate a head, named as in jumok heads: cross.2.3 is layer 2, head 3; cross.2 is the "
        "whole layer. Repeatable.",
        metavar="HEAD",
    )
    model: str = ""
    decoding: DecodingOptions = field(default_factory=DecodingOptions)
    reading: ReadingOptions = field(default_factory=ReadingOptions)
    machine: Machine = field(default_factory=Machine)
    opened: "OpenedModel | None" = None
    languages: "LanguageFiles | None" = None
    changes: ExitStack = field(default_factory=ExitStack)

    def load(self, verb: str) -> Any:
        """The system for the command `verb`, with its heads ablated until the evaluation ends.

        Raises:
            BundleError: the weights are damaged, or the model is for another command.
            ModelError: the model does not have such a head.
        """
        system = self.machine.load(self.opened or self.model, verb)
        system = of_languages(system, self.languages or self)
        if self.off:
            self.changes.enter_context(jumok.changed(system, self.off))
        return system

    def search(self, defaults: DecodingOptions) -> DecodingOptions:
        """The given decoding options over the defaults of this kind of model."""
        return defaults.changed(self.decoding.differing)

    def needs_data(self) -> Path:
        """The file of --data.

        Raises:
            ConfigError: --data is missing, or --source or --reference was given.
        """
        if self.data is None or self.source is not None or self.reference is not None:
            raise ConfigError(
                "this kind of model is evaluated on one file.",
                do=f"jumok evaluate {self.model} --data FILE",
            )
        return self.data


@dataclass(frozen=True)
class Judged:
    """Scores, and the outputs of the model, one line an example.

    Attributes:
        examples: their number, in words: "1,000 sentences, beam 5".
        details: further lines to print.
        columns: the names of the outputs' columns, which are separated by tabs.
    """

    scores: "tuple[Score, ...]"
    outputs: list[str]
    examples: str
    details: tuple[str, ...] = ()
    columns: tuple[str, ...] = ("output",)

    def without(self, heads: Sequence[str]) -> "Judged":
        """The result of a model without these heads, which its signatures and its summary name."""
        if not heads:
            return self
        off = ", ".join(sorted({head.strip().replace(" ", ".") for head in heads}))
        signed = tuple(
            replace(score, signature="|".join(filter(None, (score.signature, f"off:{off}"))))
            for score in self.scores
        )
        return replace(self, scores=signed, examples=f"{self.examples}, heads ablated: {off}")


def judged_labels(
    truth: Sequence[int], predicted: Sequence[int], labels: Sequence[str], on: str
) -> Judged:
    """Accuracy, macro F1 and the confusion matrix of a classifier.

    Args:
        truth, predicted: the numbers of the labels of each example.
        on: the examples, in words.
    """
    from jumok.evaluation.classification import ClassifiedExamples, confusion_lines

    labelled = ClassifiedExamples.of(truth, predicted)
    outputs = [labels[number] for number in predicted]
    details = tuple(confusion_lines(labelled, labels))
    return Judged(labelled.scores(labels, on), outputs, on, details)


OUTPUTS = (".csv", ".tsv", ".txt")
"""What --output writes; --json is for the scores, which are printed."""


def evaluate(
    context: typer.Context,
    model: ModelOrEnsemble,
    *,
    asked: Annotated[Evaluation, Evaluation()],
    decoding: Annotated[
        DecodingOptions, DecodingOptions(), Without("nbest", SAMPLING, *ONLY_FOR_CONTINUATION)
    ],
    reading: Annotated[ReadingOptions, ReadingOptions()],
    written: Annotated[Output, Output()],
    machine: Annotated[Machine, Machine()],
) -> None:
    """Score a model on test data; a translator by BLEU, chrF and TER.

    Scores the output of `jumok translate` with the same --split and --keep.
    With --split length --no-keep, only lines that are too long are split, and
    no text is copied unchanged. Each score has a 95 % confidence interval and
    a signature; compare only scores with equal signatures. --output saves the
    outputs of the model.

      jumok evaluate MODEL --source test.en --reference test.ko

      jumok evaluate MODEL --data test.tsv --columns 1,2 --by 0

      jumok evaluate MODEL --data test.tmx --from en --to ko

      jumok evaluate MODEL --data captions.tsv --images photos.zip

      jumok evaluate MODEL --data test.tsv --off cross.2.3 --off encoder.1
    """
    opened = open_models(model)
    kind = opened.kind
    if kind.evaluate is None:
        raise ConfigError("this kind of model cannot be evaluated.", got=opened.task)
    _refuse_unread(opened.task, context, asked.metrics)
    form = form_of(written.output, False, OUTPUTS)
    check_output(written.output, asked.source, asked.reference, asked.data)
    asked = replace(
        asked, model=model, opened=opened, columns=columns_beside(asked) or kind.columns,
        languages=asked, decoding=decoding, reading=reading, machine=machine,
    )  # fmt: skip
    function: Callable[[Evaluation], Judged] = kind.entry("evaluate")
    started = time.perf_counter()
    with asked.changes:
        judged = function(asked).without(asked.off or ())
    _print_result(judged, model, time.perf_counter() - started, written.as_json)
    if written.output is not None:
        with open_output(written.output) as stream:
            if form == "csv":
                last = len(judged.columns) - 1  # texts may have tabs of their own
                rows = (
                    (number, *line.split("\t", last))
                    for number, line in enumerate(judged.outputs, start=1)
                )
                stream.write(as_csv(("example", *judged.columns), *rows))
            else:
                stream.writelines(f"{line}\n" for line in judged.outputs)


def _refuse_unread(task: str, context: typer.Context, metrics: str) -> None:
    known = {task: options_of_kind(kind) for task, kind in KINDS.items()}
    optional = sorted(set().union(*known.values()) - {"metrics"})
    read_by = {
        f"--{name.strip('_').replace('_', '-')}": (name, {t for t in known if name in known[t]})
        for name in optional
    }
    read_by[f"--metrics {metrics}"] = (
        "metrics",
        {name for name, kind in KINDS.items() if metrics in kind.metrics},
    )
    for said, (name, tasks) in read_by.items():
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE" and task not in tasks:
            raise ConfigError(
                f"{said} has no effect for this kind of model.",
                expected=f"a model for {' or '.join(sorted(tasks))}",
                got=f"one for {task}",
                do="leave it out",
            )


def options_of_kind(kind: Kind) -> frozenset[str]:
    """The options of `jumok evaluate` that this kind has, and not all have."""
    if "decoding" not in kind.options:
        return kind.options
    return kind.options - {"decoding"} | options_of(DecodingOptions).keys()


def _print_result(judged: Judged, model: str, seconds: float, as_json: bool) -> None:
    if as_json:
        facts = {"model": model, "examples": judged.examples, "seconds": seconds}
        scores = [asdict(score) for score in judged.scores]
        more = {"details": judged.details} if judged.details else {}
        typer.echo(json.dumps(facts | {"scores": scores} | more, ensure_ascii=False, indent=2))
        return
    print_scores(judged.scores)
    for line in judged.details:
        console().print(line)
    console().print(f"{judged.examples}, in {seconds:.1f} s")
