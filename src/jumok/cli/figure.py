"""`jumok look --figure`: a view of the page as a figure for a paper."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

import typer

from jumok.errors import ConfigError
from jumok.late import late_imports

with late_imports():
    from jumok import plot
    from jumok.inspection import explain

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from jumok.attention.role import Part
    from jumok.inspection.trace import Trace

FIGURE = "A figure instead of a page"
SUFFIXES = (".svg", ".pdf", ".png")

Name = Literal[
    *("alignment", "row", "grid", "head", "switches", "choices", "pictures", "mattered"),
    "positions",
]

Kind = Annotated[
    Name | None,
    typer.Option("--figure", help="The view to draw; --to names its file.", rich_help_panel=FIGURE),
]
To = Annotated[
    Path | None,
    typer.Option(help="File of the figure: .svg, .pdf or .png.", rich_help_panel=FIGURE),
]
Who = Annotated[
    Literal["cross", "encoder", "decoder", "image"] | None,
    typer.Option(
        "--part",
        help="Attention kind: cross-attention (target to source), or the self-attention of the "
        "encoder, the decoder or an image.",
        rich_help_panel=FIGURE,
    ),
]
Layer = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Layer, counted from 1 (default: the one used for alignments).",
        rich_help_panel=FIGURE,
    ),
]
Head = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Head, counted from 1 (default: the one used for alignments, or the first).",
        rich_help_panel=FIGURE,
    ),
]
RowOf = Annotated[
    str | None,
    typer.Option(
        "--row",
        help="The query of the row, or the output word to attribute: a word, or its number, "
        "counted from 1.",
        rich_help_panel=FIGURE,
    ),
]


class Wanted(NamedTuple):
    """A requested figure; layer and head are counted from 1."""

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
    """The figure that the options request; None: they request none.

    Raises:
        ConfigError: --figure or --to is missing, or the file is of another kind.
    """
    if kind is None and to is None:
        if (part, layer, head, row) != (None,) * 4:
            raise ConfigError(
                "--part, --layer, --head and --row need --figure.",
                do="add --figure alignment --to FILE.svg; the page has its own controls",
            )
        return None
    if kind is None or to is None or to.suffix not in SUFFIXES:
        raise ConfigError(
            "--figure and --to must be given together.",
            expected="--figure alignment --to FILE.svg, .pdf or .png",
            got=f"--figure {kind or ''} --to {to or ''}",
        )
    return Wanted(kind, to, part, layer, head, row)


def save_figure(trace: "Trace", wanted: Wanted) -> None:
    """Draws the figure, writes it atomically, and reports the file on stderr.

    Raises:
        JumokError: see `jumok.plot`.
    """
    plot.save(_drawn(trace, wanted), wanted.to)
    typer.echo(f"{trace.output}\n{wanted.to}", err=True)


def _drawn(trace: "Trace", wanted: Wanted) -> "Figure":
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
        site, row = explain.choose(trace, wanted.row, part, layer, head=head)
        return plot.row(trace, row, part=site.part, layer=site.layer, head=head or 0)
    if wanted.kind == "mattered":
        return plot.mattered(trace, wanted.row or 0)
    if wanted.kind == "grid":
        return plot.grid(trace, part=part)
    if wanted.kind == "pictures":
        return plot.pictures(trace, layer=layer, head=head)
    if wanted.kind == "positions":
        return plot.positions(trace, part)
    return plot.switches(trace) if wanted.kind == "switches" else plot.choices(trace)
