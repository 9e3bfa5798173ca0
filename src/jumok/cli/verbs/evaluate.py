"""`jumok evaluate`: scores a model with the usual metrics of its kind."""

import json
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import jumok
from jumok.cli import options as option
from jumok.cli.columns import named_columns
from jumok.cli.output.cells import as_csv, form_of
from jumok.cli.output.streams import check_output, open_output
from jumok.cli.screen import console, print_scores
from jumok.errors import ConfigError
from jumok.kinds import KINDS

if TYPE_CHECKING:
    from jumok.bundle.card import Score
    from jumok.decoding.options import DecodingOptions
    from jumok.systems.catalog import OpenedModel

Outputs = list[str]
Data = Annotated[
    Path | None,
    typer.Option(
        "--data",
        "-d",
        help="One data file instead of --source and --reference; its format depends on the model.",
    ),
]
Columns = Annotated[
    str | None,
    typer.Option(
        help="In --data: columns of the text and of its translation or label (default: 0,1). "
        "Captions: columns of the file and the caption (default: 0,2)."
    ),
]
By = Annotated[
    str | None, typer.Option(help="Also report scores per value of this column of --data.")
]
Tokenize = Annotated[
    str | None,
    typer.Option(help="Tokenizer for BLEU: 13a, intl, char, zh, ko-mecab, ja-mecab, none."),
]
Lowercase = Annotated[bool, typer.Option("--lowercase", help="Case-insensitive scoring.")]
Off = Annotated[
    list[str] | None,
    typer.Option(
        help="Ablate a head, by its name in jumok heads: cross.2.3 is layer 2, head 3; cross.2 is "
        "the whole layer. Repeatable.",
        metavar="HEAD",
    ),
]


@dataclass(frozen=True)
class Evaluation:
    """The options of one evaluation; see those of `evaluate`.

    Attributes:
        off: the heads that are ablated.
        changes: what stays in effect until the evaluation ends.
    """

    opened: "OpenedModel"
    model: str
    source: Path | None
    reference: Path | None
    data: Path | None
    images: Path | None
    skip_damaged: bool
    columns: str
    by: str | None
    beam: int
    length_penalty: float
    no_repeat_ngram: int
    tokenize: str | None
    lowercase: bool
    metrics: option.MetricSets
    batch: int
    device: str
    precision: option.Precisions
    threads: int
    off: Sequence[str] = ()
    changes: ExitStack = field(default_factory=ExitStack)

    def load(self, verb: str) -> Any:
        """The system, with its heads ablated until the evaluation ends.

        Args:
            verb: the command that uses systems of its kind.

        Raises:
            BundleError: the weights are damaged, or the model is for another command.
            ModelError: the model does not have such a head.
        """
        system = option.load_system(self.opened, verb, self.device, self.precision, self.threads)
        if self.off:
            self.changes.enter_context(jumok.changed(system, self.off))
        return system

    def search(self, defaults: "DecodingOptions") -> "DecodingOptions":
        """The decoding options: the given ones over the defaults of this kind of model."""
        return replace(
            defaults,
            beam=self.beam,
            length_penalty=self.length_penalty,
            no_repeat_ngram=self.no_repeat_ngram,
        )

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
    """The result: scores, and the outputs of the model, one line an example.

    Attributes:
        examples: how many examples, in words: "1,000 sentences, beam 5".
        details: further lines to print.
        columns: the names of the outputs' columns, which are separated by tabs.
    """

    scores: "tuple[Score, ...]"
    outputs: Outputs
    examples: str
    details: tuple[str, ...] = ()
    columns: tuple[str, ...] = ("output",)

    def without(self, heads: Sequence[str]) -> "Judged":
        """The result of a model without these heads: its signatures and its summary name them."""
        if not heads:
            return self
        off = ", ".join(sorted({head.strip().replace(" ", ".") for head in heads}))
        signed = tuple(
            replace(score, signature="|".join(filter(None, (score.signature, f"off:{off}"))))
            for score in self.scores
        )
        return replace(self, scores=signed, examples=f"{self.examples}, heads ablated: {off}")


OUTPUTS = (".csv", ".tsv", ".txt")
"""What --output writes; --json is for the scores, which are printed."""

OPTIONAL = sorted(set().union(*(kind.options for kind in KINDS.values())) - {"metrics"})
"""The options that not all kinds of model have; the table says which have them."""


def evaluate(
    context: typer.Context,
    model: option.Model,
    source: Annotated[
        Path | None,
        typer.Option("--source", "-s", help="Text to translate, one sentence per line."),
    ] = None,
    reference: Annotated[
        Path | None,
        typer.Option("--reference", "-r", help="Reference translation, line-aligned."),
    ] = None,
    data: Data = None,
    images: option.Images = None,
    columns: Columns = None,
    from_: option.From = None,
    to: option.To = None,
    by: By = None,
    skip_damaged: option.SkipDamaged = False,
    beam: option.Beam = 5,
    length_penalty: option.LengthPenalty = 1.0,
    no_repeat_ngram: option.NoRepeatNgram = 0,
    tokenize: Tokenize = None,
    lowercase: Lowercase = False,
    metrics: option.Metrics = "text",
    off: Off = None,
    as_json: option.Json = False,
    output: option.Output = None,
    batch: option.Batch = 32,
    device: option.Device = "auto",
    precision: option.Precision = "fp32",
    threads: option.Threads = 0,
) -> None:
    """Score a model: a translator by BLEU, chrF and TER against references.

    Each score has a 95 % confidence interval and a signature; compare only
    scores with equal signatures. --output saves the outputs of the model.

      jumok evaluate MODEL --source test.en --reference test.ko

      jumok evaluate MODEL --data test.tsv --columns 1,2 --by 0

      jumok evaluate MODEL --data test.tmx --from en --to ko

      jumok evaluate MODEL --data captions.tsv --images photos.zip

      jumok evaluate MODEL --data test.tsv --off cross.2.3 --off encoder.1
    """
    opened = option.open_models(model)
    kind = opened.kind
    if kind.evaluate is None:
        raise ConfigError("this kind of model cannot be evaluated.", got=opened.task)
    _refuse_unread(opened.task, context, metrics)
    form_of(output, False, OUTPUTS)
    check_output(output, source, reference, data)
    asked = Evaluation(
        opened=opened, model=model, source=source, reference=reference, data=data, images=images,
        skip_damaged=skip_damaged,
        columns=named_columns(data, columns, from_, to) or kind.columns, by=by,
        beam=beam, length_penalty=length_penalty, no_repeat_ngram=no_repeat_ngram,
        tokenize=tokenize, lowercase=lowercase, metrics=metrics,
        batch=batch, device=device, precision=precision, threads=threads,
        off=off or (),
    )  # fmt: skip
    _run(kind.entry("evaluate"), asked, as_json, output)


def _run(
    function: Callable[[Evaluation], Judged], asked: Evaluation, as_json: bool, output: Path | None
) -> None:
    """Evaluates the model, prints the scores and saves the outputs."""
    started = time.perf_counter()
    with asked.changes:
        judged = function(asked).without(asked.off)
    say(judged, asked.model, time.perf_counter() - started, as_json)
    if output is not None:
        with open_output(output) as stream:
            if form_of(output, False, OUTPUTS) == "csv":
                last = len(judged.columns) - 1  # texts may have tabs of their own
                rows = (
                    (number, *line.split("\t", last))
                    for number, line in enumerate(judged.outputs, start=1)
                )
                stream.write(as_csv(("example", *judged.columns), *rows))
            else:
                stream.writelines(f"{line}\n" for line in judged.outputs)


def _refuse_unread(task: str, context: typer.Context, metrics: option.MetricSets) -> None:
    """Raises ConfigError if an option is given that this kind of model does not have."""
    read_by = {
        f"--{name.strip('_').replace('_', '-')}": (name, kinds_with(name)) for name in OPTIONAL
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


def kinds_with(option_name: str) -> set[str]:
    """The tasks whose kinds of model have this option of `jumok evaluate`."""
    return {task for task, kind in KINDS.items() if option_name in kind.options}


def say(judged: Judged, model: str, seconds: float, as_json: bool) -> None:
    """Prints the scores as a table, or as one JSON object."""
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
