"""A second sentence, or a second model, beside the first: what `jumok look` shows as A | B."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from jumok.cli import options as option

if TYPE_CHECKING:
    from jumok.decoding import DecodingOptions
    from jumok.inspection.trace import Level, Trace

Against = Annotated[
    str | None,
    typer.Option(metavar="TEXT|PICTURE", help="A second sentence or picture, beside the first."),
]
With = Annotated[
    str | None, typer.Option("--with", metavar="MODEL", help="A second model, beside the first.")
]


def load_beside(
    models: str | None,
    given: str,
    options: "DecodingOptions",
    level: "Level",
    device: str,
    precision: option.Precisions,
) -> "Callable[..., Trace] | None":
    """What traces the second model, which must be able to read `given`; None: there is none."""
    from jumok.systems.tracers import check_given

    if models is None:
        return None
    family, name = option.load_family(models, device, precision, 0)
    check_given(family, given)
    return partial(family.trace, options=options, level=level, name=name)
