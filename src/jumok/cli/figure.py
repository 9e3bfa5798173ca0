"""`jumok look --figure`: what the page shows, as a picture for a paper."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

import typer

from jumok.errors import ConfigError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from jumok.inspection.trace import Part, Trace

FIGURE = "A figure instead of a page"
SUFFIXES = (".svg", ".pdf", ".png")

Name = Literal["alignment", "row", "grid", "head", "switches", "choices", "pictures", "mattered"]

Kind = Annotated[
    Name | None,
    typer.Option("--figure", help="Which view; --to says where it goes.", rich_help_panel=FIGURE),
]
To = Annotated[Path | None, typer.Option(help="FILE.svg, .pdf or .png.", rich_help_panel=FIGURE)]
Who = Annotated[
    Literal["cross", "encoder", "decoder", "image"] | None,
    typer.Option(
        "--part",
        help="Who looks: the target at the source (cross), or a side at itself.",
        rich_help_panel=FIGURE,
    ),
]
Layer = Annotated[
    int | None,
    typer.Option(min=1, help="Else where alignments are read.", rich_help_panel=FIGURE),
]
Head = Annotated[
    int | None,
    typer.Option(min=1, help="Else where alignments are read; the first.", rich_help_panel=FIGURE),
]
RowOf = Annotated[
    str | None,
    typer.Option(
        "--row", help="Of row and mattered: a word, or its number from 1.", rich_help_panel=FIGURE
    ),
]


class Wanted(NamedTuple):
    """A figure that was asked for; layer and head from 1."""

    kind: Name
    to: Path
    part: "Part | None" = None
    layer: int | None = None
    head: int | None = None
    row: str | None = None


def wanted_figure(
    kind: Name | None,
    to: Path | None,
    part: "Part | None",
    layer: int | None,
    head: int | None,
    row: str | None,
) -> Wanted | None:
    """The figure that the options ask for; None: they ask for none.

    Raises:
        ConfigError: half of it, or another kind of file.
    """
    if kind is None and to is None:
        if (part, layer, head, row) != (None,) * 4:
            raise ConfigError(
                "--part, --layer, --head and --row choose what a figure shows.",
                do="add --figure alignment --to FILE.svg; the page has its own controls",
            )
        return None
    if kind is None or to is None or to.suffix not in SUFFIXES:
        raise ConfigError(
            "a figure has a name and a file.",
            expected="--figure alignment --to FILE.svg, .pdf or .png",
            got=f"--figure {kind or ''} --to {to or ''}",
        )
    return Wanted(kind, to, part, layer, head, row)


def save_figure(trace: "Trace", wanted: Wanted) -> None:
    """Draws the figure, writes it, whole or not at all, and says where.

    Raises:
        JumokError: see `jumok.plot`.
    """
    from jumok import plot

    plot.save(_drawn(trace, wanted), wanted.to)
    typer.echo(f"{trace.output}\n{wanted.to}", err=True)


def _drawn(trace: "Trace", wanted: Wanted) -> "Figure":
    from jumok import plot
    from jumok.inspection.explain import choose

    part = wanted.part
    layer = None if wanted.layer is None else wanted.layer - 1
    head = None if wanted.head is None else wanted.head - 1
    if wanted.kind == "alignment":
        return plot.alignment(trace, part=part, layer=layer, head=head)
    if wanted.kind == "head":
        return plot.head(trace, part=part, layer=layer, head=head or 0)
    if wanted.kind == "row":
        if wanted.row is None:
            return plot.row(trace, 0, part=part, layer=layer, head=head or 0)
        site, row = choose(trace, wanted.row, part, layer, head=head)
        return plot.row(trace, row, part=site.part, layer=site.layer, head=head or 0)
    if wanted.kind == "mattered":
        return plot.mattered(trace, wanted.row or 0)
    if wanted.kind == "grid":
        return plot.grid(trace, part=part)
    if wanted.kind == "pictures":
        return plot.pictures(trace, layer=layer, head=head)
    return plot.switches(trace) if wanted.kind == "switches" else plot.choices(trace)
