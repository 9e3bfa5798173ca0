"""`jumok explain`: one row of attention, step by step, in the terminal."""

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from jumok.cli import options as option
from jumok.cli.kept import kept_trace
from jumok.cli.look import Beams, Given
from jumok.cli.screen import console

if TYPE_CHECKING:
    from jumok.inspection.trace import Trace
    from jumok.systems.tracers import Family

BAR = 24


def explain(
    model: option.Model,
    given: Given,
    row: Annotated[str, typer.Option(help="The token that looks, or its number from 1.")],
    part: Annotated[
        Literal["encoder", "decoder", "cross", "image"] | None,
        typer.Option(
            help="The source at itself, the target at itself, the target at the source, or pixels "
            "at pixels."
        ),
    ] = None,
    layer: Annotated[int | None, typer.Option(min=1, help="From 1; else the last.")] = None,
    head: Annotated[int | None, typer.Option(min=1, help="From 1; else the sharpest.")] = None,
    target: Annotated[
        str | None, typer.Option(help="This translation instead of the model's own.")
    ] = None,
    beam: Beams = None,
    device: option.Device = "auto",
) -> None:
    """Redo one row of attention from its vectors: q·k, scale, softmax, values.

    jumok explain MODEL "The cat saw a dog because it barked." --row it
    """
    from rich.table import Table

    from jumok.inspection.explain import choose
    from jumok.inspection.explain import explain as explained

    family, name = option.load_family(model, device, "fp32", 0)
    trace = kept_trace(family, given, {"--target": target, "--beam": beam})
    trace = trace or _traced(family, name, given, target, beam)
    site, number = choose(trace, row, part, None if layer is None else layer - 1)
    found = explained(trace, site, number, None if head is None else head - 1)
    screen = console()
    screen.print(f"{trace.text}\n{trace.output}\n")
    where = f"{site.part}, layer {site.layer + 1}, head {found.head + 1}"
    screen.print(f"{found.query!r} in {where} ({site.kind})")
    product = "q·k" if site.energy is None else "v·tanh(q+k)"
    table = Table(box=None)
    for heading in ("looks at", product, f"x {site.scale:.4f}", "softmax", "", "|weight x v|"):
        table.add_column(heading, justify="left" if heading in ("looks at", "") else "right")
    for look in found.looks:
        hidden = look.score == float("-inf")
        table.add_row(
            look.key,
            f"{look.product:.4f}",
            "hidden" if hidden else f"{look.score:.4f}",
            f"{look.weight:.4f}",
            "█" * round(BAR * look.weight) or "·",
            f"{look.given:.4f}",
        )
    screen.print(table)
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
