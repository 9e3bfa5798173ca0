"""`jumok explain`: one row of attention, step by step, in the terminal."""

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from jumok.cli import options as option
from jumok.cli.look import Beams, Given
from jumok.cli.saved_trace import saved_trace
from jumok.cli.screen import console

if TYPE_CHECKING:
    from jumok.inspection.explain import ExplainedRow
    from jumok.inspection.trace import Site, Trace
    from jumok.systems.tracers import Family

BAR = 24
MOST_CELLS = 10
"""Of a picture the strongest cells: nobody reads a hundred rows."""


def explain(
    model: option.Model,
    given: Given,
    row: Annotated[
        str, typer.Option(help="The word or token that looks, or the number of its row from 1.")
    ],
    part: Annotated[
        Literal["encoder", "decoder", "cross", "image"] | None,
        typer.Option(
            help="The source at itself, the target at itself, the target at the source, or pixels "
            "at pixels."
        ),
    ] = None,
    layer: Annotated[
        int | None,
        typer.Option(
            min=1, help="From 1; else the one that alignments are read from, or the last."
        ),
    ] = None,
    head: Annotated[int | None, typer.Option(min=1, help="From 1; else the sharpest.")] = None,
    read_at: Annotated[
        Literal["writes", "reads"] | None,
        typer.Option(
            help="The row of a written word: the step that writes it, or the one that reads it. "
            "Else as the model's alignments are read."
        ),
    ] = None,
    target: Annotated[
        str | None, typer.Option(help="This translation instead of the model's own.")
    ] = None,
    beam: Beams = None,
    device: option.Device = "auto",
) -> None:
    """Redo one row of attention from its vectors: q·k, scale, softmax, values.

    Every number is computed anew and compared with what the model computed.
    A word that the model wrote is looked up where its alignments are read;
    the first line says at which step.

      jumok explain MODEL "The cat saw a dog because it barked." --row it
    """
    from jumok.inspection.explain import choose
    from jumok.inspection.explain import explain as explained

    family, name = option.load_family(model, device, "fp32", 0)
    trace = saved_trace(family, given, {"--target": target, "--beam": beam})
    trace = trace or _traced(family, name, given, target, beam)
    at_input = None if read_at is None else read_at == "reads"
    wanted = None if head is None else head - 1
    at_layer = None if layer is None else layer - 1
    site, number = choose(trace, row, part, at_layer, head=wanted, at_input=at_input)
    if wanted is None:
        wanted = _read_head(trace, site)
    found = explained(trace, site, number, wanted)
    console().print(f"{trace.text}\n{trace.output}\n")
    _print_name(trace, found, number, row, at_input)
    _print_row(found, cells=trace.axes[site.keys].grid is not None)


def _print_name(
    trace: "Trace", found: "ExplainedRow", number: int, word: str, at_input: bool | None
) -> None:
    """Which row it is, of which head, and what other rows the word has."""
    from jumok.inspection.explain import row_name

    screen, site = console(), found.site
    screen.print(row_name(trace, site, number), soft_wrap=True)
    screen.print(f"{site.part}, layer {site.layer + 1}, head {found.head + 1} ({site.kind})")
    for line in _others(trace, site, word, number, at_input):
        screen.print(line)


def _read_head(trace: "Trace", site: "Site") -> int | None:
    """The head that alignments are read from, where it is one of this site's."""
    reading = trace.notes.get("reading", {})
    here = site.part == "cross" and reading.get("layer") == site.layer
    return reading.get("head") if here else None


def _others(
    trace: "Trace", site: "Site", word: str, row: int, at_input: bool | None
) -> Iterator[str]:
    """That a word has several rows, of which one is shown."""
    from jumok.inspection.explain import row_name, rows_of

    rows = rows_of(trace, site, word, at_input=at_input)
    if len(rows) > 1:
        yield f"{word!r} has {len(rows)} rows; this is the one with the largest weight. The others:"
        for other in rows:
            if other != row:
                yield f"  --row {other + 1:<3} {row_name(trace, site, other).split(': ', 1)[1]}"


def _print_row(found: "ExplainedRow", *, cells: bool) -> None:
    from rich.table import Table

    site, looks = found.site, list(found.looks)
    if cells:
        looks = sorted(looks, key=lambda look: -look.weight)[:MOST_CELLS]
    product = "q·k" if site.energy is None else "v·tanh(q+k)"
    score = "score" if site.scale == 1 else f"x {site.scale:.4f}"
    table = Table(box=None)
    for heading in ("looks at", product, score, "softmax", "", "|weight x v|"):
        text = heading in ("looks at", "")
        table.add_column(heading, justify="left" if text else "right", overflow="fold")
    for look in looks:
        hidden = look.score == float("-inf")
        table.add_row(
            look.key,
            f"{look.product:.4f}",
            "hidden" if hidden else f"{look.score:.4f}",
            f"{look.weight:.4f}",
            "█" * round(BAR * look.weight) or "▏",
            f"{look.given:.4f}",
        )
    screen = console()
    screen.print(table)
    others = len(found.looks) - len(looks)
    if others:
        rest = 1 - sum(look.weight for look in looks)
        screen.print(f"The strongest {len(looks)} cells; {others} more have {rest:.4f} together.")
    total = sum(look.weight for look in found.looks)
    screen.print(f"\nsum of the weights {total:.4f}; recomputed - recorded: {found.recorded:.1e}")


def _traced(
    family: "Family", name: str, given: str, target: str | None, beam: int | None
) -> "Trace":
    from jumok.systems.tracers import check_given
    from jumok.systems.tracing_parts import NOTHING

    check_given(family, given)
    options = family.options if beam is None else replace(family.options, beam=beam)
    return family.trace(given, target, options, extras=NOTHING, name=name)
