"""The tours of `jumok look`: the options that name and list them."""

from typing import TYPE_CHECKING, Annotated

import typer

from jumok.errors import ConfigError
from jumok.late import late_imports

with late_imports():
    from jumok.inspection.page import tours

if TYPE_CHECKING:
    from jumok.inspection.page.tours import Tour
    from jumok.inspection.trace import Trace


def _list(wanted: bool) -> None:
    if not wanted:
        return
    for tour in tours.built_in():
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
    """The tour of --tour; None: none is asked for.

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
    return tours.find_tour(given)


def fitting(tour: "Tour | None", trace: "Trace") -> "Tour | None":
    """The tour; the model must have what it needs, once there is something to show.

    Raises:
        ConfigError: it does not.
    """
    if tour is None or not trace.sites:
        return tour
    unmet = tours.unmet(tour, trace)
    if unmet is not None:
        others = [each.name for each in tours.built_in() if tours.unmet(each, trace) is None]
        raise ConfigError(
            f"the tour {tour.name!r} does not fit this model.",
            expected=unmet,
            do="choose one that fits: " + ", ".join(others) if others else "leave out --tour",
        )
    return tour
