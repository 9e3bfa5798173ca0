"""`jumok score`: log-probabilities of given translations."""

import json
from pathlib import Path
from typing import Annotated

import typer

from jumok.cli import options as option
from jumok.cli.columns import named_columns, pairs_of
from jumok.cli.output.cells import as_csv, form_of
from jumok.cli.output.streams import check_output, open_output
from jumok.errors import BundleError, Place
from jumok.late import late_imports

with late_imports():
    from jumok.data.pairs import corpus
    from jumok.evaluation import likelihood as evaluation_likelihood
    from jumok.systems import catalog

Columns = Annotated[
    str | None,
    typer.Option(help="In --data: columns of the text and of its translation (default: 0,1)."),
]


def score(
    model: option.Model,
    source: option.Source = None,
    target: option.Target = None,
    data: option.Pairs = None,
    columns: Columns = None,
    from_: option.From = None,
    to: option.To = None,
    as_json: option.Json = False,
    output: option.Output = None,
    batch: option.Batch = 32,
    device: option.Device = "auto",
    precision: option.Precision = "fp32",
    threads: option.Threads = 0,
) -> None:
    """Print the log-probabilities of given translations.

    Prints for each pair the log-probability of the target in nats and the
    mean over its tokens, END included; on stderr, the perplexity of all.

      jumok score MODEL --source test.en --target test.ko

      jumok score MODEL --data test.tsv --columns 1,2

      jumok score MODEL --data test.tmx --from en --to ko
    """
    form = form_of(output, as_json)
    check_output(output, source, target, data)
    _check_translates(option.model_folders(model)[0])
    pairs = list(
        corpus.read_pairs(
            pairs_of(source, target, data, named_columns(data, columns, from_, to) or "0,1")
        )
    )
    translator = option.load_translator(model, device, precision, threads)
    sources, targets = [pair.source for pair in pairs], [pair.target for pair in pairs]
    scored = translator.score(sources, targets, batch_size=batch)
    with open_output(output) as stream:
        if form == "csv":
            stream.write(as_csv(("line", "log_probability", "per_token")))
        for pair, one in zip(pairs, scored, strict=True):
            values = one.token_log_probabilities
            whole = one.log_probability
            if form == "json":
                facts = {
                    "line": pair.line,
                    "log_probability": whole,
                    "tokens": one.tokens,
                    "token_log_probabilities": values,
                }
                stream.write(json.dumps(facts, ensure_ascii=False) + "\n")
            elif form == "csv":
                stream.write(as_csv((pair.line, whole, whole / len(values))))
            else:
                stream.write(f"{whole:.4f}\t{whole / len(values):.4f}\n")
    total = evaluation_likelihood.likelihood(scored)
    typer.echo(
        f"{len(pairs):,} pairs, {total.tokens:,} tokens: loss {total.loss:.4f} nats per token, "
        f"perplexity {total.perplexity:.2f}",
        err=True,
    )


def _check_translates(folder: Path) -> None:
    """Raises BundleError for a model that is not for translation."""
    if catalog.open_model(folder).kind.verb != "translate":
        raise BundleError(
            "this model does not translate, so it cannot score pairs.",
            place=Place(folder),
            expected="a translation model",
            do=f"jumok evaluate {folder} --data FILE",
        )
