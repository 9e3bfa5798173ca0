"""`jumok fill`: predicts the masked words of lines."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from jumok.cli.options import LARGEST_COUNT, Machine, OneModel, Output, Text
from jumok.cli.output.arriving import ArrivingLines, arriving
from jumok.cli.output.cells import OutputForm, as_csv, form_of
from jumok.cli.output.streams import check_output, open_output
from jumok.cli.screen import counted
from jumok.errors import DataError

if TYPE_CHECKING:
    from jumok.systems.masked_model import Filled, MaskedModel


def fill(
    model: OneModel,
    file: Text = None,
    top: Annotated[
        int, typer.Option(min=1, max=LARGEST_COUNT, help="Number of candidates per gap.")
    ] = 5,
    *,
    written: Annotated[Output, Output()],
    machine: Annotated[Machine, Machine()],
) -> None:
    """Fill in masked words (N lines in, N lines out).

    A gap is written [MASK] or ___ (three or more underscores). Prints the
    line with the best candidates, then the candidates of each gap with their
    probabilities, separated by tabs. A line that has no gap or cannot be read
    is printed unchanged, and its number is reported on stderr.

      echo "정말 ___ 영화였다" | jumok fill runs/nsmc-mlm/model
    """
    form = form_of(written.output, written.as_json)
    check_output(written.output, file)
    system: MaskedModel = machine.load(model, "fill")
    plain: list[int] = []
    unread = 0
    with open_output(written.output) as stream:
        if form == "csv":
            stream.write(as_csv(("line", "text", "gap", "candidate", "probability")))
        for number, line, filled in _filled_lines(system, file, top, machine.batch):
            unread += filled is None
            if filled is not None and not filled.gaps and line.strip():
                plain.append(number)
            stream.write(_filled_line(number, line, filled, form))
            stream.flush()  # the writer of the line may wait for its answer
    if plain:
        numbers = ", ".join(map(str, plain[:5])) + (", ..." if len(plain) > 5 else "")
        typer.echo(f"no gap ([MASK] or ___), passed through unchanged: line {numbers}", err=True)
    if unread:
        raise DataError(
            f"{unread:,} lines could not be read; the others were filled.",
            do="see the errors above",
        )


def _filled_lines(
    system: "MaskedModel", file: Path | None, top: int, batch: int
) -> "Iterator[tuple[int, str, Filled | None]]":
    """Every line with its number and its predictions; None: it could not be read."""
    incoming = arriving(file)
    numbered = enumerate(counted(incoming.lines), start=1)
    for chunk in ArrivingLines(numbered, incoming.is_ready).chunks(batch):
        readable = {number for number, line in chunk if _can_read(system, number, line)}
        lines = [line for number, line in chunk if number in readable]
        predictions = iter(system.fill(lines, top, batch_size=batch))
        for number, line in chunk:
            yield number, line, next(predictions) if number in readable else None


def _can_read(system: "MaskedModel", number: int, line: str) -> bool:
    """Whether the line can be read; if not, the error is printed on stderr."""
    try:
        system.check(line)
    except DataError as error:
        typer.echo(f"error: line {number}: {error}", err=True)
        return False
    return True


def _filled_line(number: int, line: str, filled: "Filled | None", form: OutputForm) -> str:
    if form == "json":
        facts = {"text": None, "gaps": []} if filled is None else filled.facts()
        return json.dumps({"line": number, "source": line} | facts, ensure_ascii=False) + "\n"
    text, gaps = (line, ()) if filled is None else (filled.text, filled.gaps)
    if form == "csv":
        rows: list[tuple[object, ...]] = [
            (number, text, gap, each.text, each.probability)
            for gap, candidates in enumerate(gaps, start=1)
            for each in candidates
        ]
        return as_csv(*(rows or [(number, text, None, None, None)]))
    columns = (
        ", ".join(f"{each.text} {each.probability:.3f}" for each in candidates)
        for candidates in gaps
    )
    return "\t".join([text, *columns]) + "\n"
