"""Saved traces, second models, tours and figures of `jumok look`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from jumok.cli.options import ChosenLanguages, Machine, model_folders
from jumok.data.files.formats import FIGURE_SUFFIXES
from jumok.errors import ConfigError
from jumok.options import option

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from jumok.decoding import DecodingOptions
    from jumok.inspection.page.tours import Tour
    from jumok.inspection.trace import Level, Trace
    from jumok.tracing.catalog import Family

FIGURE = "A figure instead of a page"

FigureName = Literal[
    *("alignment", "row", "grid", "head", "switches", "choices", "pictures", "mattered"),
    "positions",
]


def saved_trace(family: "Family", given: str, asked: Mapping[str, object]) -> "Trace | None":
    """The trace in this file; None: `given` is not a trace.

    Args:
        asked: options that need a new trace, by their names; None: not given.

    Raises:
        BundleError: the file is missing, truncated or edited, or its trace is of another model.
        ConfigError: such an option was given.
    """
    # A sentence may end with the name of a file; a name without spaces is meant as a file.
    if not given.endswith(".npz") or (" " in given and not Path(given).is_file()):
        return None
    wanted = [name for name, value in asked.items() if value is not None]
    if wanted:
        raise ConfigError(
            "these options have no effect on a saved trace.",
            got=f"{', '.join(wanted)} with {given}",
            do="give the text or the image itself",
        )
    from jumok.inspection.trace_file import load_trace

    return load_trace(given, of=family.system)


def say_odd(family: "Family", given: str) -> None:
    """Prints on stderr what is odd about a text to be translated, if anything is."""
    from jumok.cli.translation import note_line
    from jumok.systems.translation.judging import UNKNOWN_WORDS
    from jumok.systems.translation.translator import Translator

    if isinstance(family.system, Translator):
        if not any(part.ids for part in family.system.cut([given]).parts):
            typer.echo(
                "note: there is no word in this text: it is copied, and the model reads nothing",
                err=True,
            )
            return
        judge = family.system.judge
        for code in judge.odd_source(given, *judge.unknown([given])):
            words = judge.unknown_words(given).values() if code == UNKNOWN_WORDS else ()
            typer.echo(note_line(code, words), err=True)


@dataclass(frozen=True)
class Beside:
    """What is compared with."""

    against: str | None = option(
        None, "Compare with a second sentence or image.", metavar="TEXT|IMAGE"
    )
    with_: str | None = option(None, "Compare with a second model.", metavar="MODEL")
    before: str | None = option(
        None,
        "Compare with this model before further training; both read the same tokens.",
        metavar="MODEL",
    )

    @property
    def model(self) -> str | None:
        """The second model; None: there is none."""
        return self.with_ or self.before

    def check(self, model: str) -> None:
        """Checks that the options can be combined.

        Raises:
            BundleError: the model of --before is of another form, or has another vocabulary.
            ConfigError: options that exclude one another are given.
        """
        if self.before is None:
            return
        others = {"--with": self.with_, "--against": self.against}
        given = [name for name, value in others.items() if value is not None]
        if given:
            raise ConfigError(
                "--before compares one text in two models.",
                expected="--before MODEL alone",
                got=f"--before and {' and '.join(given)}",
                do="leave out one of them",
            )
        from jumok.bundle.same_architecture import check_same_architecture

        check_same_architecture(model_folders(model)[0], model_folders(self.before)[0])


def load_beside(
    models: str | None,
    given: str,
    options: "DecodingOptions",
    level: "Level",
    machine: Machine,
    languages: ChosenLanguages,
) -> "Callable[..., Trace] | None":
    """Loads the second model, which must be able to read `given`, for tracing; None: no model."""
    if models is None:
        return None
    family = replace(machine, threads=0).load_family(models, languages)
    from jumok.tracing.catalog import check_given

    check_given(family, given)
    return partial(family.trace, options=options, level=level, name=family.name)


def _list_tours(wanted: bool) -> None:
    if not wanted:
        return
    from jumok.inspection.page.tours import built_in

    for tour in built_in():
        typer.echo(f"{tour.name:18} {tour.text['en']}")
    raise typer.Exit


TourName = Annotated[
    str | None,
    typer.Option(
        "--tour",
        metavar="NAME|FILE.toml",
        help="Open the page with a tour: a built-in one, or a file of your own (docs/look.md).",
    ),
]
ListTours = Annotated[
    bool,
    typer.Option(
        "--tours", is_eager=True, callback=_list_tours, help="List the built-in tours and exit."
    ),
]


def wanted_tour(given: str | None, save: object, figure: object) -> "Tour | None":
    """The tour of --tour, if it is given.

    Raises:
        ConfigError: there is none of this name, the file is wrong, or no page is asked for.
    """
    if given is None:
        return None
    if figure is not None or str(save or "").endswith(".npz"):
        raise ConfigError(
            "--tour is for a page.",
            do="leave it out, or save a page with --save FILE.html",
        )
    from jumok.inspection.page.tours import find_tour

    return find_tour(given)


def fitting(tour: "Tour | None", trace: "Trace") -> "Tour | None":
    """The tour, once the trace has been compared with what it needs.

    Raises:
        ConfigError: the model lacks it.
    """
    if tour is None or not trace.sites:
        return tour
    from jumok.inspection.page import tours

    unmet = tours.unmet(tour, trace)
    if unmet is not None:
        others = [each.name for each in tours.built_in() if tours.unmet(each, trace) is None]
        raise ConfigError(
            f"the tour {tour.name!r} does not fit this model.",
            expected=unmet,
            do="choose one that fits: " + ", ".join(others) if others else "leave out --tour",
        )
    return tour


@dataclass(frozen=True)
class FigureArgs:
    """A figure in place of a page; layer and head are counted from 1."""

    figure: FigureName | None = option(None, "View to draw; --to is its file.", panel=FIGURE)
    to: Path | None = option(None, "File of the figure: .svg, .pdf or .png.", panel=FIGURE)
    part: Literal["cross", "encoder", "decoder", "image"] | None = option(
        None,
        "Attention kind: cross-attention (target to source), or the self-attention of the "
        "encoder, the decoder or the image.",
        panel=FIGURE,
    )
    layer: int | None = option(
        None,
        "Layer, counted from 1 (default: the layer of the alignment setting).",
        minimum=1,
        panel=FIGURE,
    )
    head: int | None = option(
        None,
        "Head, counted from 1 (default: the head of the alignment setting, or the first).",
        minimum=1,
        panel=FIGURE,
    )
    row: str | None = option(
        None,
        "Query of the row, or output word to attribute: a word, or its number, counted from 1.",
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
        if self.figure is None or self.to is None or self.to.suffix not in FIGURE_SUFFIXES:
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
            return plot.row(trace, part=part, layer=layer, head=head)
        from jumok.inspection.explain import choose

        site, row = choose(trace, wanted.row, part, layer, head=head)
        return plot.row(trace, row, part=site.part, layer=site.layer, head=head)
    if wanted.figure == "mattered":
        return plot.mattered(trace, wanted.row or 0)
    if wanted.figure == "grid":
        return plot.grid(trace, part=part)
    if wanted.figure == "pictures":
        return plot.pictures(trace, layer=layer, head=head)
    if wanted.figure == "positions":
        return plot.positions(trace, part)
    return plot.switches(trace) if wanted.figure == "switches" else plot.choices(trace)
