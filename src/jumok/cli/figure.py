"""`jumok look --figure`: a view of the page as a figure for a paper."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import typer

from jumok.errors import ConfigError
from jumok.options import option

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from jumok.inspection.trace import Trace

FIGURE = "A figure instead of a page"
SUFFIXES = (".svg", ".pdf", ".png")

Name = Literal[
    *("alignment", "row", "grid", "head", "switches", "choices", "pictures", "mattered"),
    "positions",
]


@dataclass(frozen=True)
class FigureArgs:
    """A figure in place of a page; layer and head are counted from 1."""

    figure: Name | None = option(None, "The view to draw; --to names its file.", panel=FIGURE)
    to: Path | None = option(None, "File of the figure: .svg, .pdf or .png.", panel=FIGURE)
    part: Literal["cross", "encoder", "decoder", "image"] | None = option(
        None,
        "Attention kind: cross-attention (target to source), or the self-attention of the encoder, "
        "the decoder or an image.",
        panel=FIGURE,
    )
    layer: int | None = option(
        None,
        "Layer, counted from 1 (default: the one used for alignments).",
        minimum=1,
        panel=FIGURE,
    )
    head: int | None = option(
        None,
        "Head, counted from 1 (default: the one used for alignments, or the first).",
        minimum=1,
        panel=FIGURE,
    )
    row: str | None = option(
        None,
        "The query of the row, or the output word to attribute: a word, or its number, counted "
        "from 1.",
        panel=FIGURE,
    )

    @property
    def wanted(self) -> bool:
        """Whether there is to be one.

        Raises:
            ConfigError: --figure or --to is missing, or the file is of another kind.
        """
        if self.figure is None and self.to is None:
            if (self.part, self.layer, self.head, self.row) != (None,) * 4:
                raise ConfigError(
                    "--part, --layer, --head and --row need --figure.",
                    do="add --figure alignment --to FILE.svg; the page has its own controls",
                )
            return False
        if self.figure is None or self.to is None or self.to.suffix not in SUFFIXES:
            raise ConfigError(
                "--figure and --to must be given together.",
                expected="--figure alignment --to FILE.svg, .pdf or .png",
                got=f"--figure {self.figure or ''} --to {self.to or ''}",
            )
        return True


def save_figure(trace: "Trace", wanted: FigureArgs) -> None:
    """Draws the figure, writes it atomically, and reports the file on stderr."""
    assert wanted.to is not None
    from jumok.plot import save

    save(_drawn(trace, wanted), wanted.to)
    typer.echo(f"{trace.output}\n{wanted.to}", err=True)


def _drawn(trace: "Trace", wanted: FigureArgs) -> "Figure":
    part = wanted.part
    layer = None if wanted.layer is None else wanted.layer - 1
    head = None if wanted.head is None else wanted.head - 1
    from jumok import plot

    if wanted.figure == "alignment":
        return plot.alignment(trace, part=part, layer=layer, head=head)
    if wanted.figure == "head":
        return plot.head(trace, part=part, layer=layer, head=head or 0)
    if wanted.figure == "row":
        if wanted.row is None:
            return plot.row(trace, 0, part=part, layer=layer, head=head or 0)
        from jumok.inspection.explain import choose

        site, row = choose(trace, wanted.row, part, layer, head=head)
        return plot.row(trace, row, part=site.part, layer=site.layer, head=head or 0)
    if wanted.figure == "mattered":
        return plot.mattered(trace, wanted.row or 0)
    if wanted.figure == "grid":
        return plot.grid(trace, part=part)
    if wanted.figure == "pictures":
        return plot.pictures(trace, layer=layer, head=head)
    if wanted.figure == "positions":
        return plot.positions(trace, part)
    return plot.switches(trace) if wanted.figure == "switches" else plot.choices(trace)
