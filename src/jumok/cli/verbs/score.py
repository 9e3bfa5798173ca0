"""`jumok score`: log-probabilities of given translations."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from jumok.cli.columns import columns_beside, of_languages, pairs_of
from jumok.cli.options import (
    Machine,
    ModelOrEnsemble,
    Output,
    PairFiles,
    ReadingOptions,
    Without,
    model_folders,
)
from jumok.cli.output.cells import OutputForm, as_csv, form_of
from jumok.cli.output.streams import check_output, open_output
from jumok.errors import BundleError, Location

if TYPE_CHECKING:
    from jumok.systems.translation.result import Translation
    from jumok.systems.translation.translator import Translator


def score(
    model: ModelOrEnsemble,
    *,
    files: Annotated[PairFiles, PairFiles()],
    reading: Annotated[ReadingOptions, ReadingOptions(), Without("keep")],
    written: Annotated[Output, Output()],
    machine: Annotated[Machine, Machine()],
) -> None:
    """Print the log-probabilities of given translations.

    For each pair, prints the log-probability of the target in nats and its
    mean per token, END included; on stderr, the perplexity of all pairs. The
    model reads the lines as in `jumok translate` with the same --split; a
    line split into segments gets the sum over its segments.

      jumok score MODEL --source test.en --target test.ko

      jumok score MODEL --data test.tsv --columns 1,2

      jumok score MODEL --data test.tmx --from en --to ko
    """
    form, output = form_of(written.output, written.as_json), written.output
    check_output(output, files.source, files.target, files.data)
    _check_translates(model_folders(model)[0])
    corpus = pairs_of(
        files.source,
        files.target,
        files.data,
        columns_beside(files) or "0,1",
        encoding=files.encoding,
        delimiter=files.delimiter,
    )
    from jumok.data.pairs.corpus import read_pairs

    pairs = list(read_pairs(corpus))
    translator: Translator = of_languages(machine.load(model, "translate"), files)
    sources, targets = [pair.source for pair in pairs], [pair.target for pair in pairs]
    keep = not reading.no_keep
    scored = translator.score(
        sources, targets, batch_size=machine.batch, split=reading.split, keep=keep
    )
    if undivided := len(translator.divided(sources, targets, reading.split, keep).whole):
        typer.echo(
            f"{undivided:,} of {len(pairs):,} pairs are scored whole, which jumok translate "
            "cuts or copies in part: their translations do not divide in the same way",
            err=True,
        )
    with open_output(output) as stream:
        if form == "csv":
            stream.write(as_csv(("line", "log_probability", "per_token")))
        for pair, one in zip(pairs, scored, strict=True):
            stream.write(_score_line(pair.line, one, form))
    from jumok.systems.translation.result import likelihood

    total = likelihood(scored)
    typer.echo(
        f"{len(pairs):,} pairs, {total.tokens:,} tokens: loss {total.loss:.4f} nats per token, "
        f"perplexity {total.perplexity:.2f}",
        err=True,
    )


def _score_line(line: int, scored: "Translation", form: OutputForm) -> str:
    """The line of a pair."""
    values, whole = scored.token_log_probabilities, scored.log_probability
    if form == "json":
        facts = {
            "line": line,
            "log_probability": whole,
            "tokens": scored.tokens,
            "token_log_probabilities": values,
        }
        return json.dumps(facts, ensure_ascii=False) + "\n"
    per_token = whole / max(len(values), 1)  # what is copied has none
    return as_csv((line, whole, per_token)) if form == "csv" else f"{whole:.4f}\t{per_token:.4f}\n"


def _check_translates(folder: Path) -> None:
    from jumok.systems.catalog import open_model

    if open_model(folder).kind.verb != "translate":
        raise BundleError(
            "this model does not translate, so it cannot score pairs.",
            place=Location(folder),
            expected="a translation model",
            do=f"jumok evaluate {folder} --data FILE",
        )
