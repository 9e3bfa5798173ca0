"""`jumok fill`: predicts the masked words of lines."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from jumok.cli.options import MOST, Machine, OneModel, Output, Text
from jumok.cli.output.arriving import Lines, arriving
from jumok.cli.output.cells import Form, as_csv, form_of
from jumok.cli.output.streams import check_output, open_output
from jumok.cli.screen import counted
from jumok.errors import DataError

if TYPE_CHECKING:
    from jumok.systems.masked_model import Candidate, Filled, MaskedModel


def fill(
    model: OneModel,
    file: Text = None,
    top: Annotated[
        int, typer.Option(min=1, max=MOST, help="Candidates to print for each gap.")
    ] = 5,
    *,
    written: Annotated[Output, Output()],
    machine: Annotated[Machine, Machine()],
) -> None:
    """Predict the words in the gaps of a text. N lines in, N lines out.

    A gap is written [MASK] or ___ (three underscores or more). Prints the
    line with the best candidates, then the candidates of each gap with
    their probabilities, tab-separated. A line without a gap, or one that
    cannot be read, is passed through unchanged, and its line number is
    reported on stderr.

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
        for number, line, filled in _filled(system, file, top, machine.batch):
            unread += filled is None
            if filled is not None and not filled.gaps and line.strip():
                plain.append(number)
            stream.write(WRITERS[form](number, line, filled))
            stream.flush()  # the writer of the line may wait for its answer
    if plain:
        numbers = ", ".join(map(str, plain[:5])) + (", ..." if len(plain) > 5 else "")
        typer.echo(f"no gap ([MASK] or ___), passed through unchanged: line {numbers}", err=True)
    if unread:
        raise DataError(
            f"{unread:,} lines could not be read; the others were filled.",
            do="see the errors above",
        )


def _filled(
    system: "MaskedModel", file: Path | None, top: int, batch: int
) -> "Iterator[tuple[int, str, Filled | None]]":
    """Every line with its number and its predictions; None: it could not be read."""
    incoming = arriving(file)
    numbered = enumerate(counted(incoming.lines), start=1)
    for chunk in Lines(numbered, incoming.is_ready).chunks(batch):
        readable = {number for number, line in chunk if _readable(system, number, line)}
        lines = [line for number, line in chunk if number in readable]
        predictions = iter(system.fill(lines, top, batch_size=batch))
        for number, line in chunk:
            yield number, line, next(predictions) if number in readable else None


def _readable(system: "MaskedModel", number: int, line: str) -> bool:
    """Whether the line can be read; if not, the error is printed on stderr."""
    try:
        system.check(line)
    except DataError as error:
        typer.echo(f"error: line {number}: {error}", err=True)
        return False
    return True


def to_columns(number: int, line: str, filled: "Filled | None") -> str:
    """The filled text and the candidates of each gap, tab-separated; an unread line as it is."""
    del number
    if filled is None:
        return f"{line}\n"

    def column(candidates: "tuple[Candidate, ...]") -> str:
        return ", ".join(f"{each.text} {each.probability:.3f}" for each in candidates)

    return "\t".join([filled.text, *map(column, filled.gaps)]) + "\n"


def to_csv(number: int, line: str, filled: "Filled | None") -> str:
    """A row for each candidate of each gap; a line without a gap, or an unread one, is one row."""
    if filled is None or not filled.gaps:
        return as_csv((number, line if filled is None else filled.text, None, None, None))
    return as_csv(
        *(
            (number, filled.text, gap, each.text, each.probability)
            for gap, candidates in enumerate(filled.gaps, start=1)
            for each in candidates
        )
    )


def to_json(number: int, line: str, filled: "Filled | None") -> str:
    """One JSON object per line; "text" is null if the line could not be read."""
    facts = {"text": None, "gaps": []} if filled is None else filled.facts()
    return json.dumps({"line": number, "source": line} | facts, ensure_ascii=False) + "\n"


WRITERS: "dict[Form, Callable[[int, str, Filled | None], str]]" = {
    "csv": to_csv,
    "json": to_json,
    "plain": to_columns,
}
"""By form of the output, the text for a line: (number, line, predictions) -> text."""
