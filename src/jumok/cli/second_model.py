"""A second input or a second model for `jumok look`, which shows them as A | B."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from jumok.cli import options as option
from jumok.errors import ConfigError
from jumok.late import late_imports

with late_imports():
    from jumok.bundle import alike
    from jumok.tracing import catalog

if TYPE_CHECKING:
    from jumok.decoding import DecodingOptions
    from jumok.inspection.trace import Level, Trace

Against = Annotated[
    str | None,
    typer.Option(metavar="TEXT|IMAGE", help="Compare with a second sentence or image."),
]
With = Annotated[
    str | None, typer.Option("--with", metavar="MODEL", help="Compare with a second model.")
]
Before = Annotated[
    str | None,
    typer.Option(
        metavar="MODEL",
        help="Compare with this model before it was trained further: the same tokens through both.",
    ),
]


def second_of(model: str, with_: str | None, before: str | None, against: str | None) -> str | None:
    """The second model that the options name; None: they name none.

    Raises:
        BundleError: the model of --before is of another form, or has another vocabulary.
        ConfigError: options that exclude one another are given.
    """
    if before is None:
        return with_
    others = {"--with": with_, "--against": against}
    given = [name for name, value in others.items() if value is not None]
    if given:
        raise ConfigError(
            "--before compares one text in two models.",
            expected="--before MODEL alone",
            got=f"--before and {' and '.join(given)}",
            do="leave out one of them",
        )
    alike.check_alike(option.model_folders(model)[0], option.model_folders(before)[0])
    return before


def load_beside(
    models: str | None,
    given: str,
    options: "DecodingOptions",
    level: "Level",
    device: str,
    precision: option.Precisions,
) -> "Callable[..., Trace] | None":
    """Loads what traces the second model, which must be able to read `given`; None: no model."""
    if models is None:
        return None
    family, name = option.load_family(models, device, precision, 0)
    catalog.check_given(family, given)
    return partial(family.trace, options=options, level=level, name=name)
