"""Options of `jumok look` for tours."""

from typing import TYPE_CHECKING, Annotated

import typer

from jumok.errors import ConfigError

if TYPE_CHECKING:
    from jumok.inspection.page.tours import Tour
    from jumok.inspection.trace import Trace


def _list(wanted: bool) -> None:
    if not wanted:
        return
    from jumok.inspection.page.tours import built_in

    for tour in built_in():
        typer.echo(f"{tour.name:18} {tour.text['en']}")
    raise typer.Exit


Wanted = Annotated[
    str | None,
    typer.Option(
        "--tour",
        metavar="NAME|FILE.toml",
        help="Open the page with a tour: one that comes with jumok, or a file of yours "
        "(docs/look.md).",
    ),
]
Listed = Annotated[
    bool,
    typer.Option("--tours", is_eager=True, callback=_list, help="List the tours, and exit."),
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
